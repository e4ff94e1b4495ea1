internal import SyncProtocols
package import UpdateMachine

/// The world of an app whose users change things: the app with the server and the user of this
/// room.
package enum OfflineWorld<App: SimulatedOfflineApp>: SimulatedApp, NamedWorld {
  package typealias Model = App.Model
  package typealias Truth = LoggedTruth<App>
  package typealias Server = LogServer<App>
  package typealias User = OfflineUser<App>
  package typealias Disk = App.Disk

  package static var name: String { "\(App.self)" }

  package static func beginning(_ choices: inout Choices) -> LoggedTruth<App> {
    LoggedTruth(App.beginning(&choices))
  }

  /// What somebody does who sees what the server has.
  package static func nextEvent(
    _ truth: LoggedTruth<App>, _ choices: inout Choices
  ) -> LoggedTruth<App>.Change {
    do throws(Model.Refusal) {
      return App.nextChange(try Model(snapshot: truth.snapshot).state, &choices)
    } catch {
      return nil
    }
  }

  package static func request(
    _ push: PushRequest<Model.Change>, at finger: Server.Place?
  ) -> PushRequest<Model.Change> { push }

  package static func describe(_ change: LoggedTruth<App>.Change) -> String {
    change?.description ?? "nothing"
  }
}
