package report

import (
	"fmt"
	"io"
	"slices"
)

// Compare writes the differences between two runs. For every case and contestant in both,
// it shows the ratios to the references, which are comparable over time, and the value
// itself, which drifts with the machine. A difference is marked if the ranges of the two
// runs do not overlap.
func Compare(w io.Writer, a, b *Report) error {
	fmt.Fprintf(w, "a: %s   b: %s\n", a.Started.Format("2006-01-02 15:04"), b.Started.Format("2006-01-02 15:04"))
	if a.Machine != b.Machine {
		fmt.Fprintln(w, "the machines differ: only ratios mean something")
	}
	if a.Settings != b.Settings {
		fmt.Fprintf(w, "the settings differ:\n  a: %+v\n  b: %+v\n", a.Settings, b.Settings)
	}
	rows := [][]string{{"case", "contestant", "figure", "a", "", "b", "", "change", ""}}
	for _, ca := range a.Cases {
		i := slices.IndexFunc(b.Cases, func(c Case) bool { return c.Name == ca.Name })
		if i < 0 {
			continue
		}
		for _, ra := range ca.Summary.Rows {
			rows = append(rows, compareRows(ca, ra, b.Cases[i])...)
		}
	}
	return columns(w, rows)
}

func compareRows(ca Case, ra Row, cb Case) [][]string {
	i := slices.IndexFunc(cb.Summary.Rows, func(r Row) bool { return r.Contestant == ra.Contestant })
	if i < 0 {
		return nil
	}
	rb := cb.Summary.Rows[i]
	out := [][]string{difference(ca.Name, ra.Contestant, ca.Summary.Unit, ra.Value, rb.Value)}
	for _, ref := range sortedKeys(ra.Ratios) {
		if sb, ok := rb.Ratios[ref]; ok && ra.Ratios[ref].N > 0 && sb.N > 0 {
			out = append(out, difference(ca.Name, ra.Contestant, "÷ "+ref, ra.Ratios[ref], sb))
		}
	}
	return out
}

func difference(name, contestant, what string, a, b Spread) []string {
	change, mark := "-", ""
	if a.N > 0 && b.N > 0 && a.Median > 0 {
		change = fmt.Sprintf("%+.1f %%", (b.Median/a.Median-1)*100)
		if a.Max < b.Min || b.Max < a.Min {
			mark = "beyond the ranges"
		}
	}
	return []string{name, contestant, what, figure(a.Median, a.N), between(a), figure(b.Median, b.N), between(b), change, mark}
}

func sortedKeys(m map[string]Spread) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
