internal import UpdateMachine

extension Words {
  /// A span as scenarios write it, like "1500ms", "10s" or "7d".
  static func text(_ span: TimeSpan) -> String {
    let units: [(name: String, length: Int64)] = [
      ("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000),
    ]
    let unit = units.first { span != .zero && span.milliseconds % $0.length == 0 }
    return unit.map { "\(span.milliseconds / $0.length)\($0.name)" } ?? "\(span.milliseconds)ms"
  }
}

extension MachineSettings {
  /// The settings that differ from the defaults, as a scenario writes them, each after a space.
  var words: String {
    var words = ""
    for (mine, plain) in zip(named, MachineSettings().named) where mine.value != plain.value {
      if let value = mine.value { words += " \(mine.name)=\(value)" }
    }
    return words
  }

  /// Every setting, as a scenario writes it; `nil`: it has no value.
  var named: [(name: String, value: String?)] {
    MachineSettings.spans.map { ($0, span($0).map { Words.text($0) }) } + [
      ("durable", isDurable ? "yes" : "no"), ("paceBurst", "\(retry.paceBurst)"),
      ("wakeBurst", "\(retry.wakeBurst)"),
    ]
  }
}
