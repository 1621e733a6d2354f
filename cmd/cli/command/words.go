package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Words lists the commands of a group by their meaning, as far as common flags depend on it.
// A command is written as typed after the program name.
type Words struct {
	// Configure are the commands that change the configuration document. Their changes may be
	// pending (--confirm, --guard).
	Configure []string
	// BreakTrust are the commands that may break the chain of trust of a signed zone. They
	// have --force.
	BreakTrust []string
	// Read are the read-only commands without --watch.
	Read []string
	// ShowAndChange are the commands with --watch that may also change something.
	ShowAndChange []string
	// Ask tells when commands ask for confirmation, unless their verb decides it.
	Ask map[string]Asking
}

// AddWords adds the commands of groups.
func (c *Line) AddWords(groups ...Words) {
	c.words.Ask = map[string]Asking{}
	for _, g := range groups {
		c.words.Configure = slices.Concat(c.words.Configure, g.Configure)
		c.words.BreakTrust = slices.Concat(c.words.BreakTrust, g.BreakTrust)
		c.words.Read = slices.Concat(c.words.Read, g.Read)
		c.words.ShowAndChange = slices.Concat(c.words.ShowAndChange, g.ShowAndChange)
		maps.Copy(c.words.Ask, g.Ask)
	}
}

// Named returns a listed command. The lists are fixed, so a wrong one is a panic.
func Named(root *cobra.Command, name string) *cobra.Command {
	path := strings.Fields(name)
	cmd, _, err := root.Find(path)
	if err != nil || cmd.Name() != path[len(path)-1] {
		panic(fmt.Sprintf("there is no command %v", path))
	}
	return cmd
}
