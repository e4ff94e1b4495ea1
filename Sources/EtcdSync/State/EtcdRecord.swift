import SyncProtocols
import UpdateMachine

/// What the cluster keeps of a client's changes, as the value of a key:
/// `{"last":7,"refused":5,"code":"TOO_LATE"}`.
///
/// It is written in the same transaction as the changes themselves. So whoever sees an effect sees
/// that it is confirmed, and a second copy of a push finds another record than it expects.
extension ClientRecord {
  /// Reads a record; `nil`: there is none, so the client has changed nothing. Throws if it is not
  /// one of ours.
  init(_ entry: EtcdEntry?) throws(EtcdRecordError) {
    self.init()
    guard let entry else { return }
    guard let text = entry.text, let value = try? JSONValue(parsing: text),
      let last = ClientRecord.id(value["last"])
    else { throw EtcdRecordError() }
    lastMutation = last
    guard let refused = value["refused"] else { return }
    guard let id = ClientRecord.id(refused), id <= last, let code = value["code"]?.string else {
      throw EtcdRecordError()
    }
    refusal = MutationRefusal(id, RejectionCode(code))
  }

  private static func id(_ value: JSONValue?) -> MutationID? {
    guard let number = value?.int64, number > 0 else { return nil }
    return MutationID(UInt64(number))
  }

  /// The record as the value of its key.
  var storedValue: [UInt8] {
    var object: JSONObject = ["last": .number(JSONNumber(Int64(lastMutation.number)))]
    if let refusal {
      object["refused"] = .number(JSONNumber(Int64(refusal.id.number)))
      object["code"] = .string(refusal.code.text)
    }
    return Array(JSONValue.object(object).description.utf8)
  }
}

/// A client's record is not one of ours: another program has written it.
struct EtcdRecordError: Error, Hashable {}
