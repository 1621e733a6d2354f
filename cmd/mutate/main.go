// Command mutate measures the quality of tests by mutation. It inserts one small fault at
// a time into a package and runs the tests of the package. It prints the faults that no
// test detects.
//
//	mutate [-n FAULTS] [-seed SEED] [-class CLASS,...] [-at FILE[:LINE],...] [-resume FILE] [-only PACKAGE,...] [-skip TESTS] [-list] [PACKAGES...]
//
// The classes of faults are: a negated condition, a bound moved by one, a changed
// constant, an omitted call, defer or assignment, two swapped arguments of one type, and
// a skipped check. An omitted call has the class give-back if it closes, flushes, unlocks
// or returns something. Option -n tries a random sample of all faults. The printed seed
// reproduces the sample, except for code that has changed since. Option -resume keeps
// verdicts in a file. A fault in it is not tried again unless its file or, for survivors,
// a test of its package has changed.
//
// Faults that survive a package's own tests are tried with the tests of the parent
// folder, e.g. mgmt/api tests its resources, and of folders that lines of its tests name:
//
//	//mutate:tests ../server
//
// The source tree is never written: the go command gets faults as overlays. As root,
// tests run in their own PID, mount and network namespaces, so that a fault cannot affect
// the machine or leave anything behind.
//
// A fault counts as noticed if a test fails, or does not end within four times the
// duration of the tests, measured before and after. A test that is late only because of
// load is repeated. Faults that do not compile do not count. Code that only serves logs
// and errors is not mutated.
//
// It is a development tool and not part of the program.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	patterns []string
	number   int           // faults to try; 0 means all
	seed     uint64        // of the order of faults
	classes  []string      // empty: all
	at       []string      // FILE or FILE:LINE of allowed faults; empty: all
	floor    time.Duration // minimum time limit of tests
	side     int           // concurrent tests
	list     bool          // list faults without trying them
	resume   string        // file of kept verdicts; empty: none
	skip     string        // tests to omit
	only     []string      // try only faults of the sample in these packages; empty: all
}

func main() {
	var o options
	classes, at, only := "", "", ""
	flag.IntVar(&o.number, "n", 0, "try a random sample of this many `faults` (0: all)")
	flag.Uint64Var(&o.seed, "seed", 0, "draw the sample of this `seed` (0: a new one)")
	flag.StringVar(&classes, "class", "", "only these `classes`: "+strings.Join(allClasses, ","))
	flag.StringVar(&at, "at", "", "only faults at these `places`: FILE or FILE:LINE,...")
	flag.DurationVar(&o.floor, "limit", 10*time.Second, "the least time tests get before they count as hung")
	flag.IntVar(&o.side, "p", 1, "packages tested at the same time")
	flag.BoolVar(&o.list, "list", false, "name the faults, try none")
	flag.StringVar(&only, "only", "", "of the sample, try only what is in these `packages`: core/balance,...")
	flag.StringVar(&o.skip, "skip", "", "leave out the tests this `expression` names; what survives the others is not kept by -resume")
	flag.StringVar(&o.resume, "resume", "", "go on with what this `file` keeps the verdicts of, and keep more in it")
	flag.Parse()
	if classes != "" {
		o.classes = strings.Split(classes, ",")
	}
	if at != "" {
		for _, place := range strings.Split(at, ",") {
			o.at = append(o.at, filepath.ToSlash(filepath.Clean(place)))
		}
	}
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	o.patterns = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := mutate(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// mutate tries the selected faults and writes the report to out and its progress to
// progress. If ctx ends, it reports the faults tried so far.
func mutate(ctx context.Context, o options, out, progress io.Writer) error {
	for _, c := range o.classes {
		if !slices.Contains(allClasses, c) {
			return fmt.Errorf("there is no class %q; there are %s", c, strings.Join(allClasses, ", "))
		}
	}
	packages, err := load(o.patterns)
	if err != nil {
		return err
	}
	if o.seed == 0 {
		o.seed = uint64(rand.Uint32()) + 1
	}
	faults := choose(packages, o)
	if len(faults) == 0 {
		return fmt.Errorf("no fault of this kind can be made in %s", strings.Join(o.patterns, " "))
	}
	if o.list || len(o.only) > 0 {
		faults, o.number = part(faults, o), 0
	}
	if o.list {
		for _, f := range faults {
			fmt.Fprint(out, f)
		}
		return nil
	}
	r, err := newRunner(o, len(faults), progress)
	if err != nil {
		return err
	}
	defer r.close()
	if r.kept, err = openKept(o.resume); err != nil {
		return err
	}
	defer r.kept.close()
	fmt.Fprintf(progress, "packages: %d; faults that can be made in them: %d; seed %d\n", len(packages), len(faults), o.seed)
	tried, err := r.run(ctx, faults)
	report(out, tried, o.seed)
	return err
}

// part returns the sample, or the part of it in some packages. Unlike a full run, it
// keeps faults that do not compile.
func part(faults []*fault, o options) []*fault {
	if o.number > 0 {
		faults = faults[:min(o.number, len(faults))]
	}
	return slices.DeleteFunc(faults, func(f *fault) bool {
		return len(o.only) > 0 && !slices.Contains(o.only, f.pkg.name)
	})
}

// choose returns the selected faults in the order of the seed. The rank of a fault
// depends only on the fault itself, so it is stable when other code changes.
func choose(packages []*pkg, o options) []*fault {
	var faults []*fault
	ranks := map[*fault][sha256.Size]byte{}
	alike := map[string]int{}
	for _, p := range packages {
		for _, f := range p.faults() {
			if len(o.classes) > 0 && !slices.Contains(o.classes, f.class) ||
				len(o.at) > 0 && !slices.Contains(o.at, f.name) && !slices.Contains(o.at, fmt.Sprintf("%s:%d", f.name, f.line)) {
				continue
			}
			faults = append(faults, f)
			what := f.name + ": " + f.change()
			ranks[f] = sha256.Sum256(fmt.Append(nil, o.seed, what, alike[what]))
			alike[what]++
		}
	}
	slices.SortFunc(faults, func(a, b *fault) int {
		x, y := ranks[a], ranks[b]
		return bytes.Compare(x[:], y[:])
	})
	return faults
}
