package cli

import "github.com/spf13/cobra"

// certificateCommands returns the commands about certificates.
func certificateCommands(c *client) []*cobra.Command {
	return []*cobra.Command{c.certificateCommand(), c.acmeCommand()}
}

// certificateWords are the commands about certificates by meaning.
var certificateWords = words{
	configure: []string{"certificate add", "certificate remove", "certificate move"},
	read:      []string{"certificate activation download", "certificate ca download", "certificate download"},
	ask:       map[string]asking{"certificate replace": forcing, "certificate restore": forcing},
}
