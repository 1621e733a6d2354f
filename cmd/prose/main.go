package main

import (
	"flag"
	"fmt"
	"os"
)

// baseline holds the counts of the last change.
const baseline = ".ci/prose"

func main() {
	list := flag.Bool("list", false, "print each match below the folder `DIR` (default: all)")
	update := flag.Bool("update", false, "write the present counts to "+baseline)
	commits := flag.String("subjects", "", "check the subjects of the commits `A..B`")
	same := flag.String("comments", "", "check that the commits `A..B` change only comments")
	flag.Parse()
	var faults []string
	var err error
	switch {
	case *commits != "":
		faults, err = subjects(*commits)
	case *same != "":
		faults, err = onlyComments(*same)
	case *list:
		_, err = measure(dir(flag.Args()), func(m match) { fmt.Println(m) })
	default:
		faults, err = compare(*update)
	}
	if err != nil {
		faults = append(faults, err.Error())
	}
	for _, f := range faults {
		fmt.Fprintln(os.Stderr, "prose: "+f)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

func dir(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// compare returns the folders that became worse, or writes the counts.
func compare(update bool) ([]string, error) {
	now, err := measure(".", func(match) {})
	if err != nil {
		return nil, err
	}
	if update {
		return nil, os.WriteFile(baseline, []byte(formatCounts(now)), 0o644)
	}
	text, err := os.ReadFile(baseline)
	if err != nil {
		return nil, err
	}
	before, err := parseCounts(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", baseline, err)
	}
	faults := worse(before, now)
	if len(faults) > 0 {
		faults = append(faults, "`go run ./cmd/prose -list DIR` shows the texts; `-update` accepts the counts")
	}
	return faults, nil
}
