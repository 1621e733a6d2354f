package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// exchange is one request and its response, from the complete request head to
// the last byte of the response.
type exchange struct {
	w       *worker
	client  *client
	farm    *table.Farm // of the table the exchange began with
	service *table.Service
	backend *table.Backend
	table.Choice
	table.Outgoing
	up      backend.Transport // nil before a backend was found and after it was let go
	attempt *balance.Attempt  // while it tries a backend that is down; nil otherwise
	trying  int64             // since when it does so

	// head holds the rewritten request as long as it may have to be sent
	// again: until a connection stands, or until the answer begins.
	head []byte
	// ahead holds the part of a response head that has arrived; pooled.
	ahead []byte
	// seen is how much of ahead http1 has looked at.
	seen int

	request  body
	response body

	began   int64 // when the request head was complete
	sent    int64 // when the head was handed to the backend
	status  int   // of the answer, 0 before it
	interim uint8 // 1xx answers passed on
	verb    http1.Verb
	phase   phase
	// refusals is how often a backend did not look at the request.
	refusals uint8
	// unshaken is how many handshakes failed for what the client sent.
	unshaken uint8

	oldClient   bool // HTTP/1.0: no chunks, no 1xx
	keepClient  bool // the client's connection may go on
	keepBackend bool // the backend's connection may go on
	upgrade     bool // the client asked for another protocol
	replayable  bool // head is the whole request and sending it twice is safe
	counted     bool // the backend's counters say that it is in flight there
	waiting     bool // counted on the backend's load as awaiting the response
	fresh       bool // the next connection must be a new one
	deaf        bool // the backend takes no more of the body
	own         bool // the answer was made here
	invite      bool // the client waits to be asked for its body
	binds       bool // the backend's connection is the client's, by a log-in

	clientEnded, backendEnded bool // directions of a tunnel that are over

	last     []byte         // an answer that was not passed on, while there are other backends to ask; pooled
	lastOf   *table.Backend // whose it is
	retried  uint8          // how often another one was asked for the sake of an answer
	recalled bool           // last was the best there was

	queue  *state.Queue // of the service
	wait   *waiter      // its place in the queue of the service; nil while it does not wait
	waits  uint8        // how often it waited
	queued int64        // when it began to wait
	turned bool         // it need not stand behind those who wait
	login  *login       // what it waits for before a backend is looked for; nil for nothing

	encoder *compress.Encoder // of the answer's body, nil when that stays as it is
	coding  compress.Coding   // the client takes, None also when the service compresses nothing
	vary    bool              // the answer gets varyLine
	told    []byte            // and this line

	entry *accesslog.Entry // its record, nil when nobody wants one

	host []byte // the request's, its array kept for the next exchange
	id   []byte // of the request, likewise; empty without one
}

// phase is where an exchange stands on its backend side.
type phase uint8

const (
	phaseConnect phase = iota // the connection is being opened
	phaseHead                 // the response head is awaited
	phaseBody                 // the response body flows
	phaseTunnel               // another protocol: bytes flow both ways
)

// stats are the farm's counters of this loop.
func (ex *exchange) stats() *stats.Farm { return ex.w.shard.Farm(ex.farm.ID) }

// backendStats are the counters of the chosen backend on this loop.
func (ex *exchange) backendStats() *stats.Backend { return ex.w.shard.Backend(ex.backend.ID) }

// save keeps the request in the scratch buffer for sending later or again.
func (ex *exchange) save() {
	b := ex.w.loop.Scratch
	ex.head = append(ex.w.loop.Buffers.Get(len(b)), b...)
}

// unsave lets the saved request go: from now on it cannot be sent again.
func (ex *exchange) unsave() {
	if ex.head != nil {
		ex.w.loop.Buffers.Put(ex.head)
		ex.head = nil
	}
	ex.replayable = false
}
