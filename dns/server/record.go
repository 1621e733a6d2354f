package server

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/dns/wire"
)

// Record implements engine.Engine: each loop puts a record of every question it answers
// into its ring, of farms that log and of those somebody watches.
func (e *Engine) Record(to *accesslog.Segment, writers []*accesslog.Writer) {
	for i, w := range e.Workers {
		w.recorder = accesslog.NewRecorder(to, writers[i], i)
	}
}

// record puts the record of the question in w.query, which is answered by w.reply, into
// the ring, if anybody wants it.
//
// Hot path: 0 allocations.
func (w *worker) record(f *farmTable, asked, answered int) {
	r := &w.recorder
	flags := r.Wants(f.id, f.source.Logs, f.source.AccessLog.Sample)
	if flags == 0 {
		return
	}
	q, last, e := &w.query, &w.chooser.Last, r.Entry
	if w.reply.TC {
		flags |= accesslog.Truncated
	}
	e.Begin()
	e.Exchange = accesslog.Exchange{
		Time: time.Now().UnixNano(), BytesIn: uint64(asked), BytesOut: uint64(answered), Farm: f.id, Service: last.Service,
		Flags: flags, Proto: accesslog.ProtoDNS, Status: uint16(w.reply.Rcode), Loop: r.Loop,
	}
	switch {
	case w.https:
		e.Proto = accesslog.ProtoDNSHTTPS
	case q.TLS:
		e.Proto = accesslog.ProtoDNSTLS
	case q.TCP:
		e.Proto = accesslog.ProtoDNSTCP
	}
	if last.Count > 0 {
		e.Backend, e.Why = last.Backends[0], accesslog.WhyAlgorithm
	}
	if w.reply.NoName {
		e.Status = uint16(wire.NXDomain)
	}
	var kind [2]byte
	binary.BigEndian.PutUint16(kind[:], q.Type)
	e.Client(netip.AddrPortFrom(q.Client, w.port))
	e.Method(kind[:])
	e.Host(q.Name())
	r.Put(e)
}
