// application.py as a jar, for clusters that run no Python in cluster mode; its driver computes alone.
import java.nio.file.{Files, Path, Paths}
import java.util.UUID
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.functions.{col, window}

object Application {
  val Rows = 10

  def main(args: Array[String]): Unit = {
    val spark = SparkSession.builder.master("local[6]").config("spark.ui.enabled", "false").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    args.drop(1).grouped(3).zipWithIndex.foreach { case (Array(kind, slow, every), number) =>
      begin(spark, Paths.get(args(0), number.toString), kind, slow.toLong, every.toLong)
    }
    spark.streams.active.foreach { query => while (query.isActive) { if (Files.exists(Paths.get(args(0), "leave"))) sys.exit(0); Thread.sleep(200) } } // it ends when all have
    sys.exit(1)
  }

  def begin(spark: SparkSession, place: Path, kind: String, slowMs: Long, everyMs: Long): Unit = {
    val source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", Rows).option("numPartitions", 1)
      .option("startTimestamp", 1000000).option("advanceMillisPerBatch", 1000).load()
    val slept = s"CASE WHEN value % $Rows = 0 THEN reflect('java.lang.Thread', 'sleep', ${slowMs}L) ELSE '' END"
    val rows = if (slowMs > 0 && kind != "foreachBatch") source.where(s"length(coalesce($slept, '')) >= 0") else source
    val writer = kind match {
      case "foreachBatch" =>
        rows.writeStream.foreachBatch { (batch: DataFrame, number: Long) => effect(place.resolve("effects"), batch, number, slowMs) }
      case "stateful" =>
        rows.withWatermark("timestamp", "2 seconds").groupBy(window(col("timestamp"), "3 seconds")).count()
          .selectExpr("CAST(window.start AS LONG) AS value", "count")
          .writeStream.format("json").option("path", place.resolve("sink").toString).outputMode("append")
      case _ => rows.select("value").writeStream.format("json").option("path", place.resolve("sink").toString)
    }
    writer.option("checkpointLocation", place.resolve("checkpoint").toString)
      .trigger(org.apache.spark.sql.streaming.Trigger.ProcessingTime(everyMs)).start()
  }

  def effect(place: Path, batch: DataFrame, number: Long, slowMs: Long): Unit = {
    Files.createDirectories(place)
    val values = batch.select("value").collect().map(_.getLong(0)).sorted.mkString("[", ", ", "]")
    val life = s"$number-${ProcessHandle.current.pid}-${UUID.randomUUID.toString.take(8)}"
    Files.writeString(place.resolve(s"$life.begun"), values)
    Thread.sleep(slowMs)
    Files.writeString(place.resolve(s"$life.ended"), values)
  }
}
