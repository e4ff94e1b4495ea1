internal import SyncProtocols
internal import UpdateMachine

extension SpaceTime {
  /// As JSON: `title`, `lanes`, `marks`, `messages`, `bars`, `evidence`. Moments are milliseconds.
  package var json: String { "\(JSONValue.object(object))" }

  private var object: JSONObject {
    SpaceTime.object(
      ("title", .string(title)), ("lanes", .array(lanes.map { .string($0) })),
      ("marks", .array(marks.map { .object(SpaceTime.object($0)) })),
      ("messages", .array(arrows.map { .object(SpaceTime.object($0)) })),
      ("bars", .array(bars.map { .object(SpaceTime.object($0)) })),
      ("evidence", .array(evidence.map { .string($0) })))
  }

  private static func object(_ mark: Mark) -> JSONObject {
    let state: JSONValue? =
      switch mark.state {
      case .status(let code): .string(MachineStatus.names[code])
      case .off: "off"
      case nil: nil
      }
    return object(
      ("at", number(mark.at)), ("lane", mark.lane.map { JSONValue(integerLiteral: Int64($0)) }),
      ("kind", .string(name(mark.kind))), ("text", .string(mark.text)), ("state", state))
  }

  private static func name(_ kind: Mark.Kind) -> String {
    switch kind {
    case .plain: "plain"
    case .commit: "commit"
    case .seam: "seam"
    case .fault: "fault"
    case .list: "list"
    case .finding: "finding"
    }
  }

  private static func object(_ arrow: Arrow) -> JSONObject {
    let (fate, at): (JSONValue, Moment?) =
      switch arrow.end {
      case .none: ("open", nil)
      case .arrived(let at): ("arrived", at)
      case .lost(let at): ("lost", at)
      }
    return object(
      ("from", JSONValue(integerLiteral: Int64(arrow.from))),
      ("to", JSONValue(integerLiteral: Int64(arrow.to))), ("text", .string(arrow.text)),
      ("sent", number(arrow.sent)), ("fate", fate), ("at", at.map(number)))
  }

  private static func object(_ bar: Bar) -> JSONObject {
    object(
      ("lane", JSONValue(integerLiteral: Int64(bar.lane))), ("name", .string(bar.name)),
      (
        "parts",
        .array(
          bar.parts.map { .object(object(("at", number($0.at)), ("text", .string($0.text)))) })
      ), ("end", bar.end.map(number)))
  }

  private static func number(_ moment: Moment) -> JSONValue {
    JSONValue(integerLiteral: moment.milliseconds)
  }

  private static func object(_ members: (String, JSONValue?)...) -> JSONObject {
    var object = JSONObject()
    for (name, value) in members { object[name] = value }
    return object
  }
}
