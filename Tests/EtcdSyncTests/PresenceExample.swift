// Article example begins: presence
import EtcdSync
import UpdateMachine

/// Shows this user to the others, until the task is cancelled.
func stay(_ source: EtcdSource<EtcdMap>, device: String, name: String) async throws {
  try await source.present(as: EtcdKey("here/\(device)"), value: name)
}

/// Who is here, in the order of their devices' keys.
func namesOfThosePresent(in model: EtcdMap) -> [String] {
  model.entries.ascending(from: "here/")
    .prefix { $0.key.bytes.starts(with: "here/".utf8) }
    .compactMap { $0.value.text }
}
// Article example ends
