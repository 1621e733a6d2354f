package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// verdict is the result of a fault.
type verdict int

const (
	noBuild  verdict = iota // it does not compile
	noticed                 // a test failed
	hung                    // tests did not end: counts as noticed
	survived                // all tests passed
)

var verdicts = [...]string{"does not compile", "noticed", "hung", "SURVIVED"}

// trial is a tried fault.
type trial struct {
	*fault
	verdict verdict
	took    time.Duration
}

// runner tries faults, several concurrently.
type runner struct {
	options
	dir      string // overlays, test programs, build cache and temporary files of tests
	cache    *buildCache
	progress io.Writer

	mu     sync.Mutex
	next   int // index of the next fault
	want   int // wanted number of faults that count
	counts int // faults that count, or are being tried
	tried  []trial
	bases  map[string]*base // by folder of the tests
	kept   *kept

	folders atomic.Int64 // number of folders made
}

// base holds the behaviour of tests without a fault.
type base struct {
	once  sync.Once
	limit atomic.Int64 // time limit of tests with a fault, in nanoseconds
	err   error
}

func newRunner(o options, all int, progress io.Writer) (*runner, error) {
	dir := filepath.Join(os.TempDir(), "m"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	cache, err := newBuildCache(filepath.Join(dir, "cache"))
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	want := all
	if o.number > 0 {
		want = min(all, o.number)
	}
	return &runner{options: o, dir: dir, cache: cache, progress: progress, want: want, bases: map[string]*base{}, kept: &kept{}}, nil
}

// folder makes the folder of one fault, which its tests also use for files. It is
// writable for all, because some tests change their user. Its name is short, because a
// Unix socket path has at most 107 bytes (unix(7)).
func (r *runner) folder() (string, error) {
	dir := filepath.Join(r.dir, strconv.FormatInt(r.folders.Add(1), 10))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, os.ModeSticky|0o777) // the mode of /tmp, independent of the umask
}

func (r *runner) close() { os.RemoveAll(r.dir) }

// run tries faults in order until enough of them count or ctx ends.
func (r *runner) run(ctx context.Context, faults []*fault) ([]trial, error) {
	var side sync.WaitGroup
	var failed error
	for range max(1, r.side) {
		side.Go(func() {
			for f := r.take(faults); f != nil && ctx.Err() == nil; f = r.take(faults) {
				t, err := r.try(f)
				r.put(t, err, &failed)
			}
		})
	}
	side.Wait()
	return r.tried, failed
}

func (r *runner) take(faults []*fault) *fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == len(faults) || r.counts == r.want {
		return nil
	}
	r.counts++
	r.next++
	return faults[r.next-1]
}

// put records the result of a fault. The next fault replaces one that does not compile.
// It also replaces one of a package whose tests fail without a fault; the run then
// continues and returns the error at the end.
func (r *runner) put(t trial, err error, failed *error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		r.counts--
		if *failed == nil {
			*failed = err
			fmt.Fprintln(r.progress, err)
		}
	case t.verdict == noBuild:
		r.counts--
	default:
		r.tried = append(r.tried, t)
		fmt.Fprintf(r.progress, "[%d/%d] %-8s %s:%d %s %.1fs\n",
			len(r.tried), r.want, verdicts[t.verdict], t.name, t.line, t.class, t.took.Seconds())
	}
}

// try builds the tests with a fault and runs them.
func (r *runner) try(f *fault) (trial, error) {
	began := time.Now()
	t := trial{fault: f}
	var known bool
	if t.verdict, known = r.kept.verdict(f); known {
		return t, nil
	}
	defer r.cache.use()()
	dir, err := r.folder()
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(dir)
	overlay, err := writeOverlay(dir, f)
	if err != nil {
		return t, err
	}
	faulty := compilation{overlay: overlay, cache: r.cache.dir}
	t.verdict = survived
	if len(f.pkg.tests) == 0 && faulty.compiles(f.pkg) != nil {
		t.verdict = noBuild
	}
	for _, tests := range f.pkg.tests {
		if t.verdict != survived {
			break
		}
		if t.verdict, err = r.judge(tests, faulty, dir); err != nil {
			return t, err
		}
	}
	t.took = time.Since(began)
	if r.skip != "" && t.verdict == survived {
		return t, nil // an omitted test might detect it
	}
	return t, r.kept.keep(t)
}

// judge runs the tests of a folder with a fault. Load also delays tests, so a hang counts
// only if tests without the fault are not slower than before.
func (r *runner) judge(tests string, faulty compilation, dir string) (verdict, error) {
	b := r.base(tests)
	if b.err != nil {
		return 0, b.err
	}
	program := filepath.Join(dir, "tests")
	if faulty.build(tests, program) != nil {
		return noBuild, nil
	}
	for {
		limit := time.Duration(b.limit.Load())
		v, err := faulty.runTests(tests, program, dir, r.skip, limit, nil)
		if v != hung || err != nil {
			return v, err
		}
		now, err := r.measure(tests)
		if now <= limit || err != nil {
			return hung, err
		}
		b.limit.Store(int64(now))
	}
}

// base measures the tests of a folder without a fault, once.
func (r *runner) base(tests string) *base {
	r.mu.Lock()
	b := r.bases[tests]
	if b == nil {
		b = &base{}
		r.bases[tests] = b
	}
	r.mu.Unlock()
	b.once.Do(func() {
		limit, err := r.measure(tests)
		b.limit.Store(int64(limit))
		b.err = err
	})
	return b
}

func (r *runner) measure(tests string) (time.Duration, error) {
	dir, err := r.folder()
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "tests")
	sound := compilation{cache: r.cache.dir}
	if out := sound.build(tests, program); out != nil {
		return 0, fmt.Errorf("%s: its tests cannot be built: %s", tests, out)
	}
	for range tries {
		var took time.Duration
		if took, err = passes(sound, tests, program, dir, r.skip); err == nil {
			return max(r.floor, 4*took), nil
		}
	}
	return 0, err
}

// tries is the number of attempts to pass tests without a fault. If all fail, the tests
// judge no faults.
const tries = 3

// passes runs the tests of a folder without a fault and returns their duration.
func passes(sound compilation, tests, program, dir, skip string) (time.Duration, error) {
	said, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		return 0, err
	}
	defer said.Close()
	began := time.Now()
	v, err := sound.runTests(tests, program, dir, skip, 10*time.Minute, said)
	took := time.Since(began)
	if err == nil && v != survived {
		text, _ := os.ReadFile(said.Name())
		err = fmt.Errorf("%s: its tests fail without a fault, so nothing can be learned from them:\n%s", tests, text)
	}
	return took, err
}
