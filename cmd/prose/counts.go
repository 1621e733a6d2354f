package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// counts are the figures of one folder.
type counts struct {
	sentences int
	hits      int // sentences that match a pattern, long ones apart
	long      int
	names     int // doc comments that do not begin with the name
	lines     int // lines of Go that are too wide
	tests     int // tests whose name has no subject
}

// wide is the highest number of characters of a line of Go. A tab counts as one.
const wide = 120

// folder returns the first two elements of a file's folder, "." at the top.
func folder(file string) string {
	parts := strings.Split(path.Dir(file), "/")
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// worse returns one line for each folder that has more of a kind than before. A
// folder that grew may have more hits while their share does not rise; a new folder
// may have 1.5 hits and 3 long sentences in 100.
func worse(before, now map[string]counts) []string {
	var out []string
	for _, dir := range slices.Sorted(maps.Keys(now)) {
		was, known := before[dir]
		is := now[dir]
		if !known {
			was = counts{sentences: 1000, hits: 15, long: 30}
		}
		share := func(what string, a, b int) {
			if (b > a || !known) && b*was.sentences > a*is.sentences {
				out = append(out, fmt.Sprintf("%s: %d of %d sentences %s, at most %s in 100 are allowed",
					dir, b, is.sentences, what, percent(a, was.sentences)))
			}
		}
		share("match a pattern of plain English", was.hits, is.hits)
		share(fmt.Sprintf("have more than %d words", longest), was.long, is.long)
		if is.names > was.names {
			out = append(out, fmt.Sprintf("%s: %d doc comments do not begin with the name, %d are allowed", dir, is.names, was.names))
		}
		if is.lines > was.lines {
			out = append(out, fmt.Sprintf("%s: %d lines have more than %d characters, %d are allowed", dir, is.lines, wide, was.lines))
		}
		if is.tests > was.tests {
			out = append(out, fmt.Sprintf("%s: %d names of tests have no subject, %d are allowed", dir, is.tests, was.tests))
		}
	}
	return out
}

func percent(part, of int) string { return fmt.Sprintf("%.1f", 100*float64(part)/float64(max(1, of))) }

// parseCounts reads the table that formatCounts writes. The last number may be missing.
func parseCounts(text string) (map[string]counts, error) {
	out := map[string]counts{}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		var dir string
		var c counts
		read, _ := fmt.Sscan(line, &dir, &c.sentences, &c.hits, &c.long, &c.names, &c.lines, &c.tests)
		if read < 6 || read != len(strings.Fields(line)) {
			return nil, fmt.Errorf("line %d: %q: a folder and five or six numbers are expected", i+1, line)
		}
		out[dir] = c
	}
	return out, nil
}

func formatCounts(all map[string]counts) string {
	var b strings.Builder
	b.WriteString("# How the texts of each folder read. cmd/prose compares and writes these counts:\n" +
		"# sentences, matches of a pattern, long sentences, doc comments that do not begin\n" +
		"# with the name, lines of Go that are too wide, names of tests without a subject\n" +
		"# (if there are any).\n")
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		c := all[dir]
		fmt.Fprintf(&b, "%-22s %6d %5d %5d %5d %5d", dir, c.sentences, c.hits, c.long, c.names, c.lines)
		if c.tests > 0 {
			fmt.Fprintf(&b, " %5d", c.tests)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
