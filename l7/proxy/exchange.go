package proxy

import (
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// exchange is one request and its response, from the complete request head to
// the last byte of the response.
type exchange struct {
	progress
	request  body
	response body
}

// progress is all of an exchange that is cleared when it ends: the bodies, which
// are large, begin anew by themselves.
type progress struct {
	w       *worker
	client  client.Client
	peer    *client.Peer // its connection
	farm    *table.Farm  // of the table the exchange began with
	service *table.Service
	backend *table.Backend
	up      backend.Transport // nil before a backend was found and after it was let go
	phase   phase

	verb http1.Verb
	host []byte // the request's, its array kept for the next exchange

	oldClient  bool // HTTP/1.0: no chunks, no 1xx
	keepClient bool // the client's connection may go on
	upgrade    bool // the client asked for another protocol
	counted    bool // the backend's counters say that it is in flight there
	waiting    bool // counted on the backend's load as awaiting the response
	binds      bool // the backend's connection is the client's, by a log-in

	table.Choice
	table.Outgoing
	loginWait
	queueWait
	reviving
	sending
	receiving
	retries
	encoding
	tunnel
	record
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
