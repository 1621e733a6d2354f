package main

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// kept is the file of verdicts that a later run resumes from. Each line contains a
// verdict, the digest of its inputs, and the fault for readers.
type kept struct {
	mu    sync.Mutex
	file  *os.File // nil: verdicts are not kept
	known map[string]verdict
}

// openKept reads the verdicts of a file, which is created if necessary.
func openKept(name string) (*kept, error) {
	k := &kept{known: map[string]verdict{}}
	if name == "" {
		return k, nil
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		var word, on string
		_, err := fmt.Sscan(lines.Text(), &word, &on)
		v := verdict(slices.Index(keptWords[:], word))
		if err != nil || v < 0 {
			return nil, errors.Join(fmt.Errorf("%s:%d: not a verdict: %q", name, n, lines.Text()), file.Close())
		}
		k.known[on] = v
	}
	k.file = file
	return k, lines.Err()
}

var keptWords = [...]string{"no-build", "noticed", "hung", "survived"}

// verdict returns the verdict of an earlier run, unless its inputs changed.
func (k *kept) verdict(f *fault) (verdict, bool) {
	if k.file == nil {
		return 0, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, known := k.known[standsOn(f, noticed)]; known {
		return v, true
	}
	v, known := k.known[standsOn(f, survived)]
	return v, known
}

// keep appends the verdict of a fault.
func (k *kept) keep(t trial) error {
	if k.file == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	_, err := fmt.Fprintf(k.file, "%s %s %s:%d %s\n", keptWords[t.verdict], standsOn(t.fault, t.verdict), t.name, t.line, t.class)
	return err
}

func (k *kept) close() {
	if k.file != nil {
		k.file.Close()
	}
}

// standsOn returns the digest of the inputs of a verdict: the file with the fault and,
// for survivors, the tests, because a changed test may detect them.
func standsOn(f *fault, v verdict) string {
	sum := sha256.New()
	fmt.Fprintln(sum, f.name)
	sum.Write(f.changed())
	if v == survived {
		for _, dir := range f.pkg.tests {
			for _, name := range testFiles(dir) {
				text, _ := os.ReadFile(name)
				sum.Write(text)
			}
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:12])
}
