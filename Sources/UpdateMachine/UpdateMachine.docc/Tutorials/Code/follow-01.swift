import UpdateMachine

/// What the app holds of the server's state.
struct CounterModel: SyncModel {
  typealias Refusal = Never
  var count: Int
  init(snapshot: Int) { count = snapshot }
  mutating func apply(_ event: Int) { count += event }
}

@main struct Program {
  static func main() async {
    var model = CounterModel(snapshot: 40)
    model.apply(2)
    print(model.count)  // 42
  }
}
