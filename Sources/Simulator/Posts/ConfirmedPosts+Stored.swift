internal import SyncProtocols
package import UpdateMachine

// The posts as rows: one per post, by position, and one for the rest.

extension Post: Storable {
  package func put(into bytes: inout ByteWriter) {
    bytes.put(author?.number)
    bytes.put(entry)
    bytes.put(Int64(channel))
  }

  package init(from bytes: inout ByteReader) throws(StoredFormError) {
    author = try bytes.takeOptional(UInt64.self).map { ClientID($0) }
    entry = try bytes.takeInt64()
    let number = try bytes.takeInt64()
    guard (0..<Int64(PostsState.channels)).contains(number) else {
      throw StoredFormError(expected: "a channel")
    }
    channel = Int(number)
  }
}

extension PostChange: Storable {
  package func put(into bytes: inout ByteWriter) { bytes.put(post) }

  package init(from bytes: inout ByteReader) throws(StoredFormError) { post = try bytes.take() }
}

extension ConfirmedPosts: StorableModel {
  package func store(since old: ConfirmedPosts?, into rows: inout RowWriter) {
    let before = old?.state.posts ?? []
    for (index, post) in state.posts.enumerated()
    where index >= before.count || before[index] != post {
      rows.put(.firstOfModel, Int64(index).keyBytes, post.storedBytes)
    }
    for index in state.posts.count..<max(before.count, state.posts.count) {
      rows.remove(.firstOfModel, Int64(index).keyBytes)
    }
    rows.put(.firstOfModel.advanced(by: 1), head, since: old?.head)
  }

  private var head: [UInt64] { [name.number] + state.marks }

  package init(stored rows: RowReader) throws(StoredFormError) {
    let head: [UInt64]? = try rows.value(of: .firstOfModel.advanced(by: 1))
    guard let head, head.count == 3 else { throw StoredFormError(expected: "posts") }
    let posts: VersionedMap<Int64, Post> = try rows.map(of: .firstOfModel)
    self.init(
      of: ClientID(head[0]),
      PostsState(posts: posts.map { $0.value }, marks: Array(head.dropFirst())))
  }
}
