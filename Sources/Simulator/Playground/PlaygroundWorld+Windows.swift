internal import SyncProtocols
internal import UpdateMachine

// What people do with posts: somebody changes them at the server, and users look at them.

extension PlaygroundWorld {
  /// Somebody changes posts. Returns why it cannot be done.
  mutating func happen(_ act: PlaygroundStep.Somebody) -> String? {
    do throws(PlayedRefusal) {
      let change = try App.change(by: act, on: server, &made)
      note(nil, "commits that somebody \(act.words)")
      server.commit(change, at: now)
      takeFinished()
      return nil
    } catch {
      return error.why
    }
  }

  /// Opens a window in place of the one that is open.
  mutating func open(_ topic: String?, on client: Int) -> String? {
    do throws(PlayedRefusal) {
      let window = try App.window(.atEnd, from: nil)
      guard let list = App.list(of: topic) else { return "there are no lists" }
      _ = close(client)
      let opened = devices[client].client.openWindow(on: list, showing: window, at: now)
      devices[client].window = opened.id
      note(client, "opens \(topic.map { "topic \($0)" } ?? "the channel")" + words(opened.effects))
      perform(opened.effects, by: client)
      return nil
    } catch {
      return error.why
    }
  }

  mutating func look(_ look: PlaygroundStep.Look, on client: Int) -> String? {
    guard let id = devices[client].window else { return "no window is open" }
    do throws(PlayedRefusal) {
      let window = try App.window(look, from: devices[client].client.view(of: id))
      feed(client, .window(.moved(id, window)))
      return nil
    } catch {
      return error.why
    }
  }

  mutating func close(_ client: Int) -> String? {
    guard let id = devices[client].window else { return "no window is open" }
    devices[client].window = nil
    feed(client, .window(.closed(id)))
    return nil
  }

  func picture(of client: Int) -> (list: String, bar: String)? {
    devices[client].window.flatMap { App.picture(of: $0, devices[client].client, with: server) }
  }

  /// Notes what a window shows now.
  mutating func noteWindow(of client: Int) {
    guard let picture = picture(of: client) else { return }
    let things = App.things(
      shownBy: devices[client].client, through: devices[client].window, made)
    let titles = PlaygroundSession.titles(of: things)
    let shown = titles.isEmpty ? "nothing" : titles.joined(separator: ", ")
    notes.append(
      Note(at: now, about: .window(client), text: "shows \(shown); knows \(picture.bar)"))
  }
}

extension PlaygroundStep.Somebody {
  /// "deletes post 3".
  var words: String {
    switch self {
    case .post(let text, let topic): "posts \(text) in \(topic)"
    case .change(let post, let text): "changes post \(post) to \(text)"
    case .delete(let post): "deletes post \(post)"
    case .move(let post, let topic): "moves post \(post) to \(topic)"
    }
  }
}
