package com.acme.orders;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.api.java.UDF2;

/** What code of a user does with a column, and how it fails. */
public class Parse implements UDF2<String, String, String> {
  @Override
  public String call(String how, String text) throws Exception {
    return parsed(how, text);
  }

  private static FileSystem files() throws IOException {
    return FileSystem.getLocal(new Configuration());
  }

  private static Path own(String name) {
    return new Path(Paths.get(name).toAbsolutePath().toString());
  }

  static String parsed(String how, String text) throws Exception {
    switch (how) {
      case "uuid":
        return UUID.fromString(text).toString();
      case "integer":
        return "" + Integer.parseInt(text);
      case "long":
        return "" + Long.parseLong(text);
      case "jackson-empty":
        return new ObjectMapper().readValue("", Map.class).toString();
      case "jackson-text":
        return new ObjectMapper().readValue(text, Map.class).toString();
      case "iterator":
        return Collections.<String>emptyList().iterator().next();
      case "array":
        return text.split(",")[4];
      case "list":
        return new ArrayList<>(List.of(text)).get(3);
      case "substring":
        return text.substring(40);
      case "null":
        return ((String) null).trim();
      case "class-cast":
        return (String) (Object) Integer.valueOf(1);
      case "date":
        return LocalDate.parse(text).toString();
      case "end-of-file":
        return "" + new DataInputStream(new ByteArrayInputStream(new byte[2])).readLong();
      case "own-offsets":
        try (FileInputStream file = new FileInputStream("/data/app/exports/offsets/17")) {
          return "" + file.read();
        }
      case "own-commits":
        return Files.readString(Paths.get("/data/app/git/commits/4"));
      case "own-state":
        return "" + new Path("file:///data/app/state/de/3/7.delta").getFileSystem(new Configuration())
            .open(new Path("file:///data/app/state/de/3/7.delta")).read();
      case "hadoop-offsets":
        return "" + files().open(own("exports/offsets/3")).read();
      case "hadoop-commits":
        return "" + files().getFileStatus(own("exports/commits/3")).getLen();
      case "hadoop-state":
        return "" + files().open(own("exports/state/0/3/7.delta")).read();
      case "hadoop-sink-log":
        return "" + files().open(own("exports/_spark_metadata/4")).read();
      case "hadoop-exists":
        files().create(own("exports/offsets/4"), true).close();
        files().create(own("exports/offsets/4"), false).close();
        return text;
      case "hadoop-rename":
        FileContext.getFileContext().rename(own("exports/offsets/.5.tmp"), own("exports/offsets/5"));
        return text;
      case "hadoop-checksum":
        files().create(own("exports/offsets/6"), true).close();
        try (FileOutputStream file = new FileOutputStream("exports/offsets/6")) {
          file.write(new byte[600]);
        }
        return "" + files().open(own("exports/offsets/6")).read();
      case "wrong-file-system":
        return "" + files().open(new Path("s3://acme/exports/offsets/7")).read();
      case "denied":
        try (FileOutputStream file = new FileOutputStream("/sys/kernel/orders")) {
          file.write(1);
        }
        return text;
      case "disk-full":
        try (FileOutputStream file = new FileOutputStream("/dev/full")) {
          file.write(new byte[10]);
        }
        return text;
      case "refused":
        try (Socket socket = new Socket("127.0.0.1", 1)) {
          return "" + socket.getPort();
        }
      case "timed-out":
        try (ServerSocket server = new ServerSocket(0); Socket socket = new Socket("127.0.0.1", server.getLocalPort())) {
          socket.setSoTimeout(20);
          return "" + socket.getInputStream().read();
        }
      case "unknown-host":
        try (Socket socket = new Socket()) {
          socket.connect(new InetSocketAddress("orders.invalid", 9092), 100);
          if (!socket.isConnected()) throw new IllegalStateException();
          return text;
        }
      case "no-memory":
        return "" + new long[Integer.MAX_VALUE][100].length;
      case "deep":
        return parsed(how, text);
      case "no-class":
        return Class.forName("com.acme.orders.rules.Vat2027").getName();
      case "own-words":
        throw new IllegalStateException("batch 12 of the price list doesn't exist");
      case "own-words-of-two":
        throw new IllegalStateException("Multiple jobs are concurrently writing commits/12 of the price list");
      default:
        throw new IllegalArgumentException("No usable value for currency");
    }
  }
}
