import MessageSync
import UpdateMachine
import ZulipSync

// A search: one page from the server, which no event keeps up to date. So it is not a window of the
// machine, and what it prints does not count as printed.

extension Follower {
  /// Prints the newest messages with these words in the narrow, and ends. Without words, all that
  /// is in the narrow is found.
  func find(_ words: String, in state: ZulipState) async {
    let narrow: ZulipNarrow
    do throws(Misuse) {
      let terms = try self.narrow.narrow(in: state).terms
      let isSearch = words.contains { !$0.isWhitespace }
      narrow = ZulipNarrow(
        terms + (isSearch ? [ZulipNarrow.Term("search", .text(words))] : []))
    } catch {
      return await end(.trouble(error.words, code: 2))
    }
    let request = ZulipPageRequest(
      narrow, .newest, before: options.count, after: 0, form: .raw)
    do throws(ZulipFailure) {
      let page = try await connection.messages(request, within: .seconds(options.wait))
      guard ending == nil else { return }
      let count = page.messages.count
      printer.complain(
        "\(count) message\(count == 1 ? "" : "s") found"
          + (page.foundOldest ? "" : ", and there may be older ones (--count)")
          + "; a search is not kept up to date")
      await answer { printer in
        for message in page.messages { try printer.show(message.message, in: state) }
      }
    } catch {
      guard error.reason != .cancelled else { return }
      await end(.trouble(Follower.words(search: error, at: connection.site.text), code: 1))
    }
  }
}
