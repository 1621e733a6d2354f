// Package support collects the data for the diagnosis of an appliance: one archive of its
// configuration, state, numbers and logs, without secrets.
//
// The contents are Parts: each has a name and a size limit, at which it is cut. All of them
// pass Scrub, which masks everything that looks like a secret. Parts that could contain
// secrets remove these themselves, and Scrub is a second check. An archive is made in
// memory, never on disk, and its size is limited by the limits of its parts. Only one is
// made at a time.
package support

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Part is a file of the archive.
type Part struct {
	Name string
	// Limit is the greatest size, in bytes; 0 means DefaultLimit.
	Limit int
	Write func(ctx context.Context, w io.Writer) error
}

const (
	// DefaultLimit is the default size limit of a part, in bytes.
	DefaultLimit = 1 << 20
	// maxTotal limits all parts together, and with them the memory of an archive.
	maxTotal = 32 << 20
	// collectTime limits the time for making an archive.
	collectTime = 40 * time.Second
)

// ErrBusy: another archive is being made.
var ErrBusy = errors.New("an archive is being put together for somebody else: try again in a minute")

// Collector makes archives. Make it with New.
type Collector struct {
	parts func() []Part
	now   func() time.Time
	busy  sync.Mutex
}

// New returns a Collector for the parts that the function parts returns at the time of
// collection.
func New(parts func() []Part, now func() time.Time) *Collector {
	return &Collector{parts: parts, now: now}
}

// Collect makes a gzipped tar. A part that fails contains the reason.
func (c *Collector) Collect(ctx context.Context) ([]byte, error) {
	if !c.busy.TryLock() {
		return nil, ErrBusy
	}
	defer c.busy.Unlock()
	ctx, cancel := context.WithTimeout(ctx, collectTime)
	defer cancel()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	left := maxTotal
	for _, p := range c.parts() {
		content := p.content(ctx, left)
		left -= len(content)
		header := tar.Header{Name: "supportsave/" + p.Name, Mode: 0o600, Size: int64(len(content)), ModTime: c.now(), Typeflag: tar.TypeReg}
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// content returns the data of a part, up to its limit and the total.
func (p *Part) content(ctx context.Context, left int) []byte {
	limit := p.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	b := &bounded{left: max(0, min(limit, left))}
	err := ctx.Err()
	if err == nil {
		err = p.Write(ctx, b)
	}
	if err != nil && !errors.Is(err, errCut) {
		fmt.Fprintf(&b.text, "\n[not known: %s]\n", err)
	}
	if b.cut {
		b.text.WriteString("\n[cut here]\n")
	}
	return Scrub(b.text.Bytes())
}

var errCut = errors.New("cut")

// bounded accepts a number of bytes and refuses more.
type bounded struct {
	text bytes.Buffer
	left int
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	b.text.Write(p[:n])
	if n < len(p) {
		b.cut = true
		return n, errCut
	}
	return n, nil
}
