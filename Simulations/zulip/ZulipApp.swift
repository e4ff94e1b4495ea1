internal import Foundation
package import MessageSync
package import Simulator
package import SyncProtocols
package import UpdateMachine
internal import ZulipServer
package import ZulipSync

// ZulipWorld: a world in which every client holds an account of ZulipSync, and the server is that
// of `simulate serve`, as a value. It is a target of its own, because the simulator knows neither.

/// The app of the world `zulip`: devices of one user, who scrolls through lists of an organisation
/// in which others write, move, delete, react, come and go.
package enum ZulipApp: SimulatedApp {
  package typealias Model = ZulipAccount
  package typealias Truth = ZulipTruth
  package typealias User = ZulipUser
  package typealias Disk = RowDisk<ZulipAccount, QueueFinger>

  package static func beginning(_ choices: inout Choices) -> ZulipTruth {
    var truth = ZulipTruth.beginning
    for _ in 0..<choices.draw(.workload, below: 8) { truth.apply(truth.nextChange(&choices)) }
    return truth
  }

  package static func nextEvent(
    _ truth: ZulipTruth, _ choices: inout Choices
  ) -> ZulipTruth.Change {
    truth.nextChange(&choices)
  }

  package static func eventToRefuse(_ truth: ZulipTruth) -> ZulipTruth.Change? { .unreadable }

  package static func snapshotToRefuse(_ truth: ZulipTruth) -> ZulipAccount.Snapshot? {
    truth.snapshot { $0["realm_users"] = "nobody" }
  }

  /// Asks with the words of the library's own request, and reads the answer with its own code.
  package static func page(
    _ request: PageRequest<ZulipMessageList, MessageID>, found: ZulipTruth, later: ZulipTruth
  ) -> MessagePage<ZulipContent> {
    let asked = ZulipAccountSource.request(request, .rendered)
    do throws(APIError) {
      let answer = try found.realm.page(
        APIRequest("GET", "messages", parameters(of: asked)), for: ZulipTruth.me,
        later: later.realm)
      let read = ZulipTruth.read(ZulipPage.self, .object(answer))
      guard let page = read.page(for: asked) else { preconditionFailure("\(asked) has a hole") }
      guard case .item(let id) = request.want, page.messages.isEmpty else { return page }
      return MessagePage(messages: later.single(id).map { [$0] } ?? [])
    } catch {
      preconditionFailure("\(error) to \(asked)")
    }
  }

  /// The parameters of a form, decoded.
  private static func parameters(of request: ZulipPageRequest) -> [APIRequest.Parameter] {
    request.parameters.encoded.split(separator: "&").map { pair in
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return APIRequest.Parameter(
        String(parts[0]), String(parts.last ?? "").removingPercentEncoding ?? "")
    }
  }

  package static func checksum(of model: ZulipAccount) -> UInt64 {
    var digest = StateDigest()
    for message in model.lists.messages {
      digest.fold(message.id.number)
      digest.fold(message.content.text)
      digest.fold(Int64(message.flags.rawValue))
    }
    for narrow in model.lists.narrows {
      for interval in model.lists.list(of: narrow)?.knowledge.intervals ?? Knowledge().intervals {
        digest.fold(interval.lowerEnd.id?.number ?? 0)
        digest.fold(interval.upperEnd.id?.number ?? 0)
      }
    }
    for message in model.realm.unread { digest.fold(message.id.number) }
    for id in model.realm.starred { digest.fold(id.number) }
    return digest.value
  }

  package static func describe(_ model: ZulipAccount) -> String {
    var text = ""
    for message in model.lists.messages {
      text += "\(message.id):\(message.place):\(message.content.text)+\(message.flags.rawValue) "
    }
    for narrow in model.lists.narrows {
      if let list = model.lists.list(of: narrow) { text += "· \(narrow) \(list.knowledge) " }
    }
    text += "· unread"
    for message in model.realm.unread { text += " \(message.id)" }
    text += " · starred"
    for id in model.realm.starred { text += " \(id)" }
    return text
  }

  package static func describe(_ truth: ZulipTruth) -> String { truth.description }

  package static func describe(_ change: ZulipTruth.Change) -> String { change.description }
}
