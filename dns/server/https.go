package server

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/names"
	"github.com/sluicelb/sluice/dns/wire"
)

// AnswerHTTPS implements names.Answerer, for a query layer 7 took from a request.
func (e *Engine) AnswerHTTPS(loop int, farm string, msg []byte, from netip.AddrPort) (names.Answer, names.Outcome) {
	f := e.table.Load().byName[farm]
	if f == nil {
		return names.Answer{}, names.Absent
	}
	w := e.Workers[loop]
	q := &w.query
	q.Client, w.port, q.TCP, q.TLS, w.https = from.Addr().Unmap().WithZone(""), from.Port(), true, true, true // limits and choices use nets
	defer func() { w.https = false }()                                                                        // also after a panic
	if w.stream == nil {
		w.makeStream()
	}
	msg = w.answer(f, msg, w.stream[:0])
	switch {
	case w.limited:
		return names.Answer{}, names.Limited
	case len(msg) == 0:
		return names.Answer{}, names.Unreadable
	}
	w.shard.Farm(f.id).BytesOut += uint64(len(msg))
	return names.Answer{Message: msg, Fresh: wire.Fresh(q, msg), Private: w.reply.Scope > 0}, names.Answered
}
