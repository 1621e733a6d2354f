// Package certificates has the commands about certificates, lists of authorities and ACME.
package certificates

import (
	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
)

// Commands returns the commands about certificates.
func Commands(c *command.Line) []*cobra.Command {
	return []*cobra.Command{certificateCommand(c), acmeCommand(c)}
}

// Words are the commands about certificates by meaning.
var Words = command.Words{
	Configure: []string{"certificate add", "certificate remove", "certificate move"},
	Read:      []string{"certificate activation download", "certificate ca download", "certificate download"},
	Ask:       map[string]command.Asking{"certificate replace": command.AskForcing, "certificate restore": command.AskForcing},
}
