internal import UpdateMachine

// What a world tells the watch that counts situations, if there is one.

extension World {
  typealias Watch = SituationWatch<App.Model, Server.Sync>

  /// What surrounds a client, and what it cannot know.
  func surroundings(of client: Int) -> Watch.Surroundings {
    let device = clients[client]
    var around = Watch.Surroundings()
    around.isLoading = device.isReading
    around.isReadingRows = device.rowReading != nil
    around.isSaving = device.write != nil
    around.isConnected = device.connection == .open
    around.repairs = device.user.audits.repairs
    if let log = device.body.finger?.log, let index = server.index(of: log) {
      around.isLogAlive = server.isAlive(at: index)
    }
    return around
  }

  /// Tells the watch what the client's user has done.
  func note(
    _ action: App.User.Action, from before: Client.Body, _ effects: Client.Body.Effects,
    on client: Int
  ) {
    guard let situations else { return }
    var deed: Watch.Deed?
    switch action {
    case .mutates: deed = .mutates
    case .undoes: deed = .undoes
    case .redoes: deed = .redoes
    case .decides(.retried(let ticket)): deed = .retries(ticket)
    case .decides: deed = .decides
    case .opens(let narrow, _): deed = .opens(narrow)
    case .changes(.closed): situations.windowChanged(client, isClosed: true, effects)
    case .changes(.moved): situations.windowChanged(client, isClosed: false, effects)
    case .changesLists, .signals: break
    }
    situations.acted(
      client, deed, from: before, to: clients[client].body, effects, surroundings(of: client),
      at: now)
  }

  /// Tells the watch that a push has reached the server.
  func noteArrival(ofPush number: UInt64, _ client: Int, incarnation: UInt64) {
    guard let situations else { return }
    let device = clients[client]
    situations.pushArrives(
      client, device.pushes[Int(number)].push, number: number,
      isOfProcess: device.isRunning && device.incarnation == incarnation, device.body)
  }
}
