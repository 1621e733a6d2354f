package mgmt

import (
	"context"
	"slices"

	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/mgmt/api/traffic"
)

// forwarded implements traffic.ConnectionTable for farms in the engine.
type forwarded struct {
	engine interface {
		Connections(ctx context.Context, backends []uint32, limit int) (total int, list []link.Connection, err error)
		EndConnections(ctx context.Context, backends []uint32) (ended int, err error)
	}
}

// inParts calls ask with as many backends as a request can hold; once for nil, which means
// all.
func inParts(backends []uint32, ask func(some []uint32) error) error {
	if backends == nil {
		return ask(nil)
	}
	for some := range slices.Chunk(backends, link.MaxNamed) {
		if err := ask(some); err != nil {
			return err
		}
	}
	return nil
}

// Connections implements traffic.ConnectionTable.
func (f forwarded) Connections(ctx context.Context, backends []uint32, limit int) (list []traffic.Tracked, total int, err error) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	err = inParts(backends, func(some []uint32) error {
		n, found, err := f.engine.Connections(ctx, some, limit-len(list))
		total += n
		for i := range found {
			c := &found[i]
			list = append(list, traffic.Tracked{
				Backend: c.Backend, Protocol: c.Protocol, State: c.State, Client: c.Client, To: c.To, Server: c.Server,
				Timeout: uint32(c.Idle.Seconds()), BytesIn: c.In, BytesOut: c.Out,
			})
		}
		return err
	})
	return list, total, err
}

// FlushConnections implements traffic.ConnectionTable.
func (f forwarded) FlushConnections(ctx context.Context, backends []uint32) (ended int, err error) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	err = inParts(backends, func(some []uint32) error {
		n, err := f.engine.EndConnections(ctx, some)
		ended += n
		return err
	})
	return ended, err
}
