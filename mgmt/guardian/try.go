package guardian

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
)

const (
	// triesAtOnce is how many tries of operators may run at the same time. mostSaid is how
	// many lines one try returns.
	triesAtOnce = 4
	mostSaid    = 200
)

// ErrBusy occurs when too many tries are running.
var ErrBusy = errors.New("too many checks are being tried at the moment: try again")

var tries = make(chan struct{}, triesAtOnce)

// Try runs a command on any target once, and returns its lines. It changes no verdict.
func (g *Guardian) Try(ctx context.Context, command string, to probe.Target, limit time.Duration) (one Result, said []string, err error) {
	p, err := g.options.Parse(command)
	if err != nil {
		return one, nil, err
	}
	select {
	case tries <- struct{}{}:
		defer func() { <-tries }()
	default:
		return one, nil, ErrBusy
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var mu sync.Mutex // a probe may report lines from several goroutines
	began := time.Now()
	failed := p.Run(ctx, g.options.Network(Route{}), to, func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		if len(said) < mostSaid {
			said = append(said, fmt.Sprintf(format, args...))
		}
	})
	one = resultOf(began, time.Now(), failed)
	mu.Lock()
	defer mu.Unlock()
	return one, said[:len(said):len(said)], nil
}
