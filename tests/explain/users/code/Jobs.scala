package com.acme.orders

import org.apache.spark.api.java.function.VoidFunction2
import org.apache.spark.sql.{DataFrame, Dataset, Encoders, ForeachWriter, Row, SQLContext}
import org.apache.spark.sql.execution.streaming.Sink
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.sources.{DataSourceRegister, StreamSinkProvider}
import org.apache.spark.sql.streaming.{DataStreamWriter, GroupState, GroupStateTimeout, OutputMode}
import org.json4s._
import org.json4s.jackson.JsonMethods

/** The code of a user in Scala: functions of columns, of rows, of groups and of batches. */
object Jobs {
  private case class Price(amount: String, currency: String)

  def parsed(how: String, text: String): String = how match {
    case "head" => List.empty[String].head
    case "next" => Iterator.empty.asInstanceOf[Iterator[String]].next()
    case "none" => Option.empty[String].get
    case "key" => Map("eur" -> "1").apply(text)
    case "assert" => assert(text.isEmpty); text
    case "require" => require(text.isEmpty, "an order has no key"); text
    case "match" => text match { case "never" => text }
    case "to-int" => text.toInt.toString
    case "to-double" => text.toDouble.toString
    case "json4s-text" => JsonMethods.parse(text).toString
    case "json4s-type" =>
      implicit val formats: Formats = DefaultFormats
      JsonMethods.parse("{\"amount\": \"1\"}").extract[Map[String, Price]].toString
    case "json4s-field" =>
      implicit val formats: Formats = DefaultFormats
      (JsonMethods.parse("{\"amount\": 1}") \ "price").extract[String]
    case "caught" =>
      try Parse.parsed("integer", text) catch {
        case e: Exception => throw new RuntimeException(s"cannot price the order $text", e)
      }
    case _ => Parse.parsed(how, text)
  }

  def column(rows: DataFrame, how: String): DataFrame = {
    val price = udf((text: String) => parsed(how, text))
    rows.select(price(col("key")).as("price"))
  }

  def map(rows: DataFrame, how: String): DataFrame =
    rows.map((row: Row) => parsed(how, row.getString(0)))(Encoders.STRING).toDF()

  def groups(rows: DataFrame, how: String): DataFrame =
    rows.select("key").as(Encoders.STRING)
      .groupByKey((key: String) => key)(Encoders.STRING)
      .mapGroupsWithState(GroupStateTimeout.NoTimeout)(
        (key: String, all: Iterator[String], state: GroupState[String]) => parsed(how, key)
      )(Encoders.STRING, Encoders.STRING).toDF()

  def batches(writer: DataStreamWriter[Row], how: String): DataStreamWriter[Row] =
    writer.foreachBatch(new VoidFunction2[Dataset[Row], java.lang.Long] {
      override def call(batch: Dataset[Row], id: java.lang.Long): Unit =
        batch.collect().foreach((row: Row) => parsed(how, row.getString(0)))
    })

  def each(writer: DataStreamWriter[Row], how: String): DataStreamWriter[Row] =
    writer.foreach(new ForeachWriter[Row] {
      override def open(partition: Long, epoch: Long): Boolean = true
      override def process(row: Row): Unit = parsed(how, row.getString(0))
      override def close(error: Throwable): Unit = ()
    })
}

/** A sink of somebody else. */
class Bus extends StreamSinkProvider with DataSourceRegister {
  override def shortName(): String = "bus"

  override def createSink(
      context: SQLContext, options: Map[String, String], by: Seq[String], mode: OutputMode): Sink =
    new Sink {
      override def addBatch(batchId: Long, data: DataFrame): Unit = options("how") match {
        case "batch-twice" => throw new BusException(s"Batch $batchId was already committed by another writer")
        case "no-bucket" => throw new BusException("The specified key does not exist: s3://acme-bus/offsets/0")
        case how => Jobs.parsed(how, "N/A")
      }
    }
}

class BusException(message: String) extends RuntimeException(message)
