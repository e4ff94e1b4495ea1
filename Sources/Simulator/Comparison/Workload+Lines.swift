internal import SyncProtocols
internal import UpdateMachine

extension Workload {
  /// The workload as JSON objects, one a line: what users do, what happens to devices and to the
  /// server, and when requests are lost.
  func lines(seed: UInt64) -> [String] {
    var lines: [(at: Moment, object: JSONObject)] = []
    for edit in edits {
      var object = edit.edit.arguments
      object["does"] = .string(edit.edit.name)
      object["device"] = JSONValue(integerLiteral: Int64(edit.device))
      lines.append((edit.at, object))
    }
    for (at, device, event) in events {
      let object = JSONObject(
        of: ("device", JSONValue(integerLiteral: Int64(device))), ("happens", .string(event.name)))
      lines.append((at, object))
    }
    lines += restarts.map { ($0, JSONObject(of: ("happens", .string("server-restarts")))) }
    lines += losses
    // What is of one moment stays as it is here.
    let ordered = lines.enumerated().sorted {
      ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
    }
    let head = JSONObject(
      of: ("seed", JSONValue(integerLiteral: Int64(clamping: seed))),
      ("devices", JSONValue(integerLiteral: Int64(devices))),
      ("calm", JSONValue(integerLiteral: Workload.calm.milliseconds)),
      ("end", JSONValue(integerLiteral: Workload.end.milliseconds)))
    return [JSONValue.object(head).description]
      + ordered.map { _, line in
        var object = line.object
        object["at"] = JSONValue(integerLiteral: line.at.milliseconds)
        return JSONValue.object(object).description
      }
  }

  /// The quarters of a second in which requests or answers are lost.
  private var losses: [(at: Moment, object: JSONObject)] {
    var losses: [(at: Moment, object: JSONObject)] = []
    for start in stride(from: 0, to: Workload.calm.milliseconds, by: 250) {
      for device in 0..<devices {
        let trip = trip(of: device, at: Moment(milliseconds: start))
        guard trip.isRequestLost || trip.isAnswerLost else { continue }
        let object = JSONObject(
          of: ("until", JSONValue(integerLiteral: start + 250)),
          ("device", JSONValue(integerLiteral: Int64(device))),
          ("loses", .string(trip.isRequestLost ? "request" : "answer")))
        losses.append((Moment(milliseconds: start), object))
      }
    }
    return losses
  }
}

extension Workload.Event {
  fileprivate var name: String {
    switch self {
    case .goesOffline: "goes-offline"
    case .comesBack: "comes-back"
    case .crashes: "crashes"
    }
  }
}
