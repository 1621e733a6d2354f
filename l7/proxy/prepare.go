package proxy

import "github.com/sluicelb/sluice/l7/table"

// prepare makes the request a backend gets in the loop's scratch buffer: head
// and as much of the body as has come.
func (ex *exchange) prepare(rest []byte) (used int, err error) {
	told := table.Told{Proto: ex.peer.Scheme()}
	if len(ex.id) > 0 { // copying what was just written makes the processor wait
		told.ID = ex.id
	}
	if t := ex.farm.TLS; t != nil && t.TellsClients {
		told.Certificate = ex.peer.Certificate()
	}
	if err := ex.Revise(&ex.w.query, ex.service, &ex.Choice, &told); err != nil {
		return 0, err
	}
	return ex.assemble(rest)
}

// assemble writes the request.
func (ex *exchange) assemble(rest []byte) (used int, err error) {
	w := ex.w
	out := ex.Append(w.loop.Scratch[:0], &w.query)
	in, n, err := ex.request.take(rest, ex.service.Multiplexed)
	if err != nil {
		return 0, err
	}
	out = append(out, rest[:n]...)
	if !ex.service.Multiplexed { // else transmit asks for it
		out = append(out, ex.requestTrailer()...)
	}
	w.loop.Scratch = out
	ex.peer.Stats().BytesIn += uint64(in)
	ex.recordMoved(uint64(in), 0)
	return in, nil
}
