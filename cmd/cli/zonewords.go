package cli

import "github.com/spf13/cobra"

// zoneCommands returns the commands about zones and records.
func zoneCommands(c *client) []*cobra.Command {
	return []*cobra.Command{c.zoneCommand(), c.recordCommand()}
}

// zoneWords are the commands about zones and records by meaning.
var zoneWords = words{
	configure: []string{
		"zone create", "zone set", "zone delete", "zone import",
		"record create", "record set", "record delete",
	},
	breakTrust: []string{"zone set", "zone delete", "zone key use", "zone key delete"},
	read:       []string{"zone export"},
	ask:        map[string]asking{"zone import": deleting},
}
