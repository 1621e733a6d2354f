package server

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/dns/wire"
)

// Record implements engine.Engine: each loop writes a record of every answered query into
// its ring, for farms with a log and those being watched.
func (e *Engine) Record(to *accesslog.Segment, writers []*accesslog.Writer) {
	for i, w := range e.Workers {
		w.recorder = accesslog.NewRecorder(to, writers[i], i)
	}
}

// record writes the record of w.query and its answer w.reply into the ring, if needed, with
// more flags.
//
// Hot path: 0 allocations.
func (w *worker) record(f *farmTable, asked, answered int, more accesslog.Flags) {
	r := &w.recorder
	flags := r.Wants(f.id, f.source.Logs, f.source.AccessLog.Sample)
	if flags == 0 {
		return
	}
	q, last, e := &w.query, &w.chooser.Last, r.Entry
	flags |= more
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
	e.Reason(w.reason())
	r.Put(e)
}

// reason explains why the question in w.query was refused or failed, got no address from
// a service, or got addresses only by the service's all-down policy. It returns "" for
// all other answers: their response code says it all.
func (w *worker) reason() string {
	q, r, last := &w.query, &w.reply, &w.chooser.Last
	switch {
	case w.note != "":
		return w.note
	case r.NoName:
		return ""
	case r.Rcode == wire.BadVers:
		return "its version of EDNS is not supported"
	case r.Rcode == wire.Refused && q.Class != wire.ClassIN && q.Class != wire.ClassANY:
		return "its class is not served"
	case r.Rcode == wire.Refused && (q.Type == wire.TypeAXFR || q.Type == wire.TypeIXFR):
		return "the client may not transfer the zone (transfer_from, transfer_keys)"
	case r.Rcode == wire.Refused:
		return "no zone of the farm has the name"
	case r.Rcode == wire.FormErr && q.Type == wire.TypeNXNAME:
		return "its type is for answers only"
	case last.Service == 0:
		return ""
	case r.Rcode == wire.ServFail && last.Policy == "":
		return "no check of the service has a result yet"
	case last.Policy != "":
		return byPolicy[last.Policy]
	case last.Count == 0 && last.Unable:
		return "no check can ask the backends of the service that have an address of the type"
	case last.Count == 0:
		return "the service has no address of the type"
	}
	return ""
}

// byPolicy are the reasons for the answers of a service without a usable backend.
var byPolicy = map[farm.AllDown]string{
	farm.AllDownFail:     "no backend of the service works: its policy is to fail",
	farm.AllDownNone:     "no backend of the service works: its policy is to answer without an address",
	farm.AllDownFallback: "no backend of the service works: its policy is to answer with fallback addresses",
	farm.AllDownAll:      "no backend of the service works: its policy is to answer with all of them",
}
