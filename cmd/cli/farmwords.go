package cli

import "github.com/spf13/cobra"

// farmCommands returns the commands about farms and their objects.
func farmCommands(c *client) []*cobra.Command {
	return []*cobra.Command{c.farmCommand(), c.serviceCommand(), c.backendCommand(), c.headerCommand(), c.rewriteCommand(), c.sessionCommand(), c.connCommand()}
}

// farmWords are the commands about farms and their objects by meaning.
var farmWords = words{
	configure: []string{
		"farm create", "farm copy", "farm set", "farm rename", "farm delete", "farm start", "farm stop", "farm restart",
		"service create", "service set", "service move", "service delete",
		"backend create", "backend set", "backend maintenance", "backend delete",
		"header create", "header set", "header move", "header delete",
		"rewrite create", "rewrite set", "rewrite move", "rewrite delete",
		"session create", "session delete",
		"check create", "check copy", "check set", "check delete", "check link", "check unlink",
	},
	breakTrust: []string{"farm delete"},
	read:       []string{"check run", "check templates"},
	ask: map[string]asking{
		"farm create": taking, "farm set": taking, "farm start": taking,
		"header set": placed, "header move": placed, "rewrite set": placed, "rewrite move": placed,
	},
}
