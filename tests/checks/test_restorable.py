"""What the refusal of a batch says of the others: no batch is called lost that was not checked."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checks.restorable import Restorable

ASKED = "The plan of ckpt rollback '/c p' --to-batch N says of each whether it can be restored."


@pytest.mark.parametrize(("batches", "told"), [
    (Restorable(), "None of the batches in the logs can be restored. ckpt salvage '/c p' searches what can be saved all the same, "
     "in temporary files and in backups."),
    (Restorable(lacking=[1, 2]), "None of the batches in the logs can be restored. ckpt salvage '/c p' searches what can be saved all "
     "the same, in temporary files and in backups."),
    (Restorable([9, 8, 7, 5], lacking=[6]), "Batches that can be restored: 5, 7 to 9. 1 cannot be restored: 6."),
    (Restorable([9, 8], [7, 6, 2]), "Batches that can be restored: 8 to 9. Of 3 more no file is missing, and not all of their state was "
     f"read: 2, 6 to 7. {ASKED}"),
    (Restorable([9], lacking=[8], untried=range(8)), "Batches that can be restored: 9. 1 cannot be restored: 8. 8 not checked: 0 to 7. "
     f"{ASKED}"),
    (Restorable(lacking=[9], untried=[3]), f"None was found that can be restored. 1 cannot be restored: 9. 1 not checked: 3. {ASKED}"),
])  # fmt: skip
def test_a_text_names_all_of_them(batches, told):
    assert batches.text("/c p") == f"Nothing was done. {told}"
