// Article example begins: a model of an app's own
import EtcdSync
import UpdateMachine

/// What things cost, in cents. It only reads.
struct Prices: SyncModel {
  enum Refusal: Error { case notANumber(EtcdKey) }

  var cents: [EtcdKey: Int] = [:]

  init(snapshot: EtcdSnapshot) throws(Refusal) {
    for (key, entry) in snapshot.entries { try set(key, entry.text) }
  }

  mutating func apply(_ event: EtcdEvent) throws(Refusal) {
    guard let value = event.value else {
      cents[event.key] = nil  // The key was deleted.
      return
    }
    try set(event.key, String(validating: value, as: UTF8.self))
  }

  private mutating func set(_ key: EtcdKey, _ text: String?) throws(Refusal) {
    guard let number = text.flatMap({ Int($0) }) else { throw .notANumber(key) }
    cents[key] = number
  }
}
// Article example ends
