package publish

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// reading is the last generation that an engine read and acknowledged. The next snapshot
// contains only the changes since then.
type reading struct {
	engine     Engine
	generation uint64
}

// hand sends the snapshot and the sockets to the engine. After an error the engine's
// configuration is unknown, so the connection is closed and the next one starts with a
// republication.
func (p *Publisher) hand(ctx context.Context, engine Engine, generation uint64, cfg *farm.Config, ls *listeners) (link.Ack, error) {
	if p.read.engine != engine {
		p.read = reading{engine: engine}
	}
	ack, err := p.handAfter(ctx, p.read.generation, generation, cfg, ls)
	if err == nil && ack.Whole && p.read.generation != 0 {
		ack, err = p.handAfter(ctx, 0, generation, cfg, ls)
	}
	p.read.generation = 0
	if err == nil && ack.Refused == "" {
		p.read.generation = generation
	}
	return ack, err
}

// handAfter sends a snapshot that is relative to generation base, or a whole one if base is 0.
func (p *Publisher) handAfter(ctx context.Context, base, generation uint64, cfg *farm.Config, ls *listeners) (link.Ack, error) {
	engine := p.read.engine
	file, err := p.writer.Publish(generation, cfg, base)
	if err != nil {
		return link.Ack{}, &apply.Refused{Reason: "the configuration cannot be written down: " + err.Error()}
	}
	defer file.Close()
	p.options.Page.SetPublished(generation)
	patience := engineTimeout
	if info, err := file.Stat(); err == nil && info.Size() >= 1<<20 {
		patience += time.Duration(info.Size()>>20) * timePerMiB
		ctx = context.WithoutCancel(ctx) // the deadlines of callers suit small snapshots
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ack, err := engine.Publish(ctx, file, ls.opened)
	if err == nil && ack.Refused == "" && ack.Generation != generation {
		err = fmt.Errorf("it answered for generation %d instead of %d", ack.Generation, generation)
	}
	if err != nil {
		p.detach(engine)
		_ = engine.Close()
		return link.Ack{}, fmt.Errorf("the engine did not acknowledge: %w", err)
	}
	return ack, nil
}
