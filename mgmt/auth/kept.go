package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/sluicelb/sluice/mgmt/disk"
)

// FileName is the name of the file of a ledger in the data directory.
const FileName = "guesses.json"

// saveEvery is the interval between writes, and so the most that a crash of this process
// loses.
const saveEvery = time.Second

// maxFile limits the size of the file. A full ledger has less than half of it.
const maxFile = 8 << 20

// kept is a ledger in its file.
type kept struct {
	Passwords keptCounts  `json:"passwords"`
	Choices   keptCounts  `json:"choices"`
	Keys      []keptCount `json:"keys"`
	Places    []keptPlace `json:"places"`
}

type keptCounts struct {
	Names   []keptCount `json:"names"`
	Sources []keptCount `json:"sources"`
}

type keptCount struct {
	Name   []byte       `json:"name,omitempty"`
	Source netip.Prefix `json:"source,omitzero"`
	Wrong  int          `json:"wrong"`
	Until  time.Time    `json:"until"`
}

type keptPlace struct {
	Name   []byte       `json:"name"`
	Source netip.Prefix `json:"source"`
	Last   time.Time    `json:"last"`
}

// OpenLedger returns the ledger stored in a folder, or an empty one. An unreadable file
// must not lock out users: it is logged and replaced.
func OpenLedger(folder string, log *slog.Logger, now func() time.Time) *Ledger {
	l := NewLedger(now)
	l.path, l.log = filepath.Join(folder, FileName), log
	var k kept
	switch err := readKept(l.path, &k); {
	case err == nil:
		l.restore(k)
	case !errors.Is(err, fs.ErrNotExist):
		log.Error("the guesses at passwords and the places of users cannot be read: counting begins anew", "file", l.path, "error", disk.Explain(l.path, err))
	}
	return l
}

func readKept(path string, into *kept) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// restore fills an empty ledger. No lock may last longer than a new one, even if the clock
// was set back.
func (l *Ledger) restore(k kept) {
	now := l.now()
	latest := now.Add(guessTime)
	countOf := func(c keptCount) *count {
		if c.Until.After(latest) {
			c.Until = latest
		}
		return &count{wrong: c.Wrong, until: c.Until}
	}
	sources := func(into limit[netip.Prefix], from []keptCount) {
		for _, c := range from[:min(len(from), maxCounts)] {
			into[c.Source] = countOf(c)
		}
	}
	for into, from := range map[*counts]keptCounts{&l.passwords: k.Passwords, &l.choices: k.Choices} {
		sources(into.sources, from.Sources)
		for _, c := range from.Names[:min(len(from.Names), maxCounts)] {
			into.names[accountOf(c.Name, c.Source)] = countOf(c)
		}
	}
	sources(l.keys, k.Keys)
	for _, p := range k.Places[:min(len(k.Places), maxPlaces)] {
		if p.Last.After(now) {
			p.Last = now
		}
		l.places[accountOf(p.Name, p.Source)] = p.Last
	}
}

func accountOf(name []byte, source netip.Prefix) account {
	a := account{source: source}
	copy(a.name[:], name)
	return a
}

// contents returns the data to store. Guesses in progress count as wrong ones, so that
// killing this process does not reset them.
func (l *Ledger) contents() kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	of := func(c *count) (keptCount, bool) {
		out := keptCount{Wrong: c.pending(now), Until: c.until}
		if c.checking > 0 {
			out.Until = now.Add(guessTime)
		}
		return out, out.Wrong > 0
	}
	sources := func(from limit[netip.Prefix]) (out []keptCount) {
		for at, c := range from {
			if k, counts := of(c); counts {
				k.Source = at
				out = append(out, k)
			}
		}
		return out
	}
	both := func(from counts) keptCounts {
		out := keptCounts{Sources: sources(from.sources)}
		for who, c := range from.names {
			if k, counts := of(c); counts {
				k.Name, k.Source = who.name[:], who.source
				out.Names = append(out.Names, k)
			}
		}
		return out
	}
	k := kept{Passwords: both(l.passwords), Choices: both(l.choices), Keys: sources(l.keys)}
	for who, last := range l.places {
		k.Places = append(k.Places, keptPlace{who.name[:], who.source, last})
	}
	return k
}

// Run stores the ledger on disk after changes until ctx ends.
func (l *Ledger) Run(ctx context.Context) {
	defer l.save()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
			l.save()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(saveEvery):
		}
	}
}

// save writes the ledger. If that fails, counting continues.
func (l *Ledger) save() {
	if l.path == "" {
		return
	}
	text, err := json.Marshal(l.contents())
	if err == nil {
		err = disk.Replace(l.path, text)
	}
	failed := err != nil
	if failed && !l.failing {
		l.log.Error("guesses at passwords are not kept on disk: a restart forgets them", "error", disk.Explain(l.path, fmt.Errorf("write %s: %w", l.path, err)))
	}
	l.failing = failed
}
