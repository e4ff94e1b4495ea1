internal import SyncProtocols
internal import UpdateMachine

/// Items over NextApp's protocol: each is a row of the first table. They are edited on line only.
enum ComparedTables: ComparedProtocol {
  typealias Model = TablesApp.Model
  typealias Server = TablesServer

  static var spoken: LibraryWorld.SpokenProtocol { .tableSync }
  static var cadence: Cadence { .pushed }

  static func server(_ settings: ServerSettings) -> TablesServer {
    TablesServer(truth: TablesTruth(), settings: settings, at: Moment(milliseconds: 0))
  }

  static func change(_ edit: ItemEdit, number: UInt64) -> TableChange {
    let row = TableRowKey(0, edit.item)
    return switch edit {
    case .create: .insert(row, parent: nil, edit.fields)
    case .set: .set(row, edit.fields)
    case .delete: .delete(row)
    }
  }

  static func request(_ push: PushRequest<TableChange>, at finger: TableFinger?) -> MutationPush {
    MutationPush(push)
  }

  static func fields(of item: Int64, in state: TableState) -> JSONObject? {
    state.rows[TableRowKey(0, item)]?.content?.fields
  }

  static func fields(of item: Int64, on server: TablesServer) -> JSONObject? {
    server.truth.rows[TableRowKey(0, item)]?.fields
  }

  static func json(_ place: TableFinger) -> JSONValue {
    .object(
      JSONObject(
        of: ("subscription", JSONValue(integerLiteral: Int64(place.subscription))),
        ("heard", place.progress.heard.map { JSONValue(integerLiteral: Int64($0)) }),
        (
          "watermarks",
          .array(place.watermarks.map { JSONValue(integerLiteral: $0.milliseconds) })
        )))
  }

  static func json(_ push: MutationPush) -> JSONValue { push.json }

  static func json(_ snapshot: TableSnapshot) -> JSONValue {
    .object(
      JSONObject(
        of: ("client", JSONValue(integerLiteral: Int64(snapshot.client.number))),
        ("subscription", JSONValue(integerLiteral: Int64(snapshot.subscription)))))
  }

  static func json(_ batch: TableBatch) -> JSONValue {
    let rows =
      switch batch.content {
      case .page(_, _, let rows, _), .notifications(_, let rows, _): rows
      }
    return .object(
      JSONObject(
        of: ("subscription", JSONValue(integerLiteral: Int64(batch.subscription))),
        ("as_of", JSONValue(integerLiteral: batch.asOf.milliseconds)),
        ("rows", .array(rows.map { json($0) }))))
  }

  private static func json(_ row: SyncedRow) -> JSONValue {
    .object(
      JSONObject(
        of: ("table", JSONValue(integerLiteral: Int64(row.key.table))),
        ("id", JSONValue(integerLiteral: row.key.id)),
        ("changed", JSONValue(integerLiteral: row.stamp.milliseconds)),
        ("version", JSONValue(integerLiteral: Int64(row.version))),
        ("parent", row.content?.parent.map { JSONValue(integerLiteral: $0) }),
        ("fields", row.content.map { .object($0.fields) })))
  }
}
