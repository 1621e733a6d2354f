package main

import (
	"fmt"
	"os"
)

func main() {
	faults, err := run(".", ".ci/fixes")
	if err != nil {
		faults = append(faults, err.Error())
	}
	for _, f := range faults {
		fmt.Fprintln(os.Stderr, ".ci/fixes: "+f)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

// run checks the sources below dir against the list in a file.
func run(dir, list string) ([]string, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	fixes, err := parse(string(text))
	if err != nil {
		return nil, err
	}
	have, err := inUse(dir)
	if err != nil {
		return nil, err
	}
	return check(fixes, have), nil
}
