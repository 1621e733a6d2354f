package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// tally counts tried and noticed faults.
type tally struct{ tried, noticed int }

func (t *tally) String() string {
	if t == nil || t.tried == 0 {
		return "·"
	}
	return fmt.Sprintf("%d/%d %.0f%%", t.noticed, t.tried, 100*float64(t.noticed)/float64(t.tried))
}

// report prints the survivors, and the counts by class and package.
func report(out io.Writer, tried []trial, seed uint64) {
	slices.SortFunc(tried, func(a, b trial) int {
		return cmp.Or(cmp.Compare(a.name, b.name), a.from-b.from, cmp.Compare(a.text, b.text))
	})
	rows := map[string]map[string]*tally{}
	for _, t := range tried {
		if t.verdict == survived {
			fmt.Fprint(out, t.fault)
			if len(t.pkg.tests) == 0 {
				fmt.Fprintln(out, "\t(this package has no tests)")
			}
		}
		for _, row := range []string{t.pkg.name, "all"} {
			if rows[row] == nil {
				rows[row] = map[string]*tally{}
			}
			for _, column := range []string{t.class, "all"} {
				if rows[row][column] == nil {
					rows[row][column] = &tally{}
				}
				rows[row][column].tried++
				if t.verdict != survived {
					rows[row][column].noticed++
				}
			}
		}
	}
	table(out, rows)
	if all := rows["all"]["all"]; all != nil {
		fmt.Fprintf(out, "%d of %d faults noticed, %.1f %%; seed %d\n",
			all.noticed, all.tried, 100*float64(all.noticed)/float64(all.tried), seed)
	}
}

func table(out io.Writer, rows map[string]map[string]*tally) {
	columns := append([]string{"all"}, slices.DeleteFunc(slices.Clone(allClasses),
		func(c string) bool { return rows["all"][c] == nil })...)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nnoticed")
	for _, c := range columns {
		fmt.Fprint(w, "\t", c)
	}
	fmt.Fprintln(w)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(rows)), func(n string) bool { return n == "all" })
	for _, name := range append(names, "all") {
		fmt.Fprint(w, name)
		for _, c := range columns {
			fmt.Fprint(w, "\t", rows[name][c])
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	fmt.Fprintln(out)
}
