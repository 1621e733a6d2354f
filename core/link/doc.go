// Package link is the control channel between mgmt and one engine. Over it, mgmt sends
// snapshots and listener sockets, which the engine acknowledges or rejects. Further
// messages list and change persistence sessions, list and end connections, and explain
// requests.
//
// The channel is a unix socket of type SOCK_SEQPACKET ("unixpacket"). The engine
// listens and mgmt dials. The engine checks the user of the peer process (SO_PEERCRED):
//
//	engine → mgmt   Hello, once, at the start
//	mgmt → engine   a publication: one snapshot, any number of listeners
//	engine → mgmt   Ack, exactly one for each publication
//	mgmt → engine   a question, after the previous one was answered
//	engine → mgmt   its answer, exactly one
//
// A message is encoded as CBOR. It is split into frames if it exceeds the size or the
// number of descriptors of one packet:
//
//	0  protocol version (1)
//	1  1 if more frames of this message follow, else 0
//	2  fragment of the message
//
// The engine does not trust its peers. An invalid message, or one that is not completed
// in time, closes that connection only. A new connection replaces the old one, so a
// stuck mgmt cannot lock out its successor, and there is at most one publisher.
//
// Publications have priority over questions. A publication does not wait for the answer
// to a question. Questions may wait for a publication, and may be cancelled without
// harm.
//
// Descriptors belong to their last receiver: listeners passed to Handler.Publish belong
// to the handler.
package link
