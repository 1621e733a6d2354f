package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// words lists the commands of a group by their meaning, as far as common flags depend on it.
// A command is written as typed after the program name.
type words struct {
	// configure are the commands that change the configuration document. Their changes may be
	// pending (--confirm, --guard).
	configure []string
	// breakTrust are the commands that may break the chain of trust of a signed zone. They
	// have --force.
	breakTrust []string
	// read are the read-only commands without --watch.
	read []string
	// showAndChange are the commands with --watch that may also change something.
	showAndChange []string
	// ask tells when commands ask for confirmation, unless their verb decides it.
	ask map[string]asking
}

// addWords adds the commands of groups.
func (c *client) addWords(groups ...words) {
	c.words.ask = map[string]asking{}
	for _, g := range groups {
		c.words.configure = slices.Concat(c.words.configure, g.configure)
		c.words.breakTrust = slices.Concat(c.words.breakTrust, g.breakTrust)
		c.words.read = slices.Concat(c.words.read, g.read)
		c.words.showAndChange = slices.Concat(c.words.showAndChange, g.showAndChange)
		maps.Copy(c.words.ask, g.ask)
	}
}

// commandNamed returns a listed command. The lists are fixed, so a wrong one is a panic.
func commandNamed(root *cobra.Command, name string) *cobra.Command {
	path := strings.Fields(name)
	cmd, _, err := root.Find(path)
	if err != nil || cmd.Name() != path[len(path)-1] {
		panic(fmt.Sprintf("there is no command %v", path))
	}
	return cmd
}
