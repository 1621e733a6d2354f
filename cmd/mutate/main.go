// Command mutate asks whether tests bite: it puts one small fault after the
// other into a package, runs that package's own tests, and prints what none of
// them noticed.
//
//	mutate [-n FAULTS] [-seed SEED] [-class CLASS,...] [-at FILE[:LINE],...] [-resume FILE] [-only PACKAGE,...] [-skip TESTS] [-list] [PACKAGES...]
//
// Faults are of classes: a condition negated, a bound moved by one, a constant
// changed, a call left out (give-back: one that closes, flushes, unlocks or
// returns something), a defer left out, two arguments of one type swapped, a
// check skipped, an assignment left out. With -n a random sample of all of them
// is tried, and the seed that is printed draws the same one again, but for what
// has changed since. With -resume verdicts are kept in a file: what was tried by
// an earlier run is not tried again, unless its file or, if it survived, a test
// of its package has changed.
//
// What a package's own tests do not notice is shown to those of the folder above
// it, as mgmt/api tests its resources, and of folders that lines of its tests name:
//
//	//mutate:tests ../server
//
// The tree is never written to: faults are given to the go command as overlays.
// As root tests run in namespaces for processes, mounts and the network, so that
// a fault can end or set nothing of the machine's, and leaves nothing behind.
//
// A fault counts as noticed when a test fails, or does not come to an end
// within four times what the tests take, before it and after it: what only load
// has made late is tried again. Faults that do not compile do not count; nor are
// made any in what only goes into logs and errors.
//
// It is a tool for development and no part of the program.
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
	number   int           // faults to try; 0 is all
	seed     uint64        // of the order they are tried in
	classes  []string      // empty: all
	at       []string      // FILE or FILE:LINE, a fault has to be at one of them; empty: anywhere
	floor    time.Duration // tests may take at least this long
	side     int           // tests at the same time
	list     bool          // name the faults, try none
	resume   string        // the file that keeps verdicts; empty: none does
	skip     string        // tests that are left out
	only     []string      // of the sample, what is in these packages; empty: all
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

// mutate tries what the options ask for, writes the report to out, and how it
// goes to progress. When ctx ends the report is of what was tried until then.
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

// part is the sample, or what of it is in some packages. It has faults that do not
// compile, which others take the place of when a whole sample is tried.
func part(faults []*fault, o options) []*fault {
	if o.number > 0 {
		faults = faults[:min(o.number, len(faults))]
	}
	return slices.DeleteFunc(faults, func(f *fault) bool {
		return len(o.only) > 0 && !slices.Contains(o.only, f.pkg.name)
	})
}

// choose gives the faults that were asked for in the order of the seed. The place
// of one depends on nothing but itself: where the rest changes, it stays.
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
