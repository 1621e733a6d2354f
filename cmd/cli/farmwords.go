package cli

import (
	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
)

// farmCommands returns the commands about farms and their objects.
func farmCommands(c *command.Line) []*cobra.Command {
	return []*cobra.Command{farmCommand(c), serviceCommand(c), backendCommand(c), headerCommand(c),
		rewriteCommand(c), sessionCommand(c), connCommand(c)}
}

// farmWords are the commands about farms and their objects by meaning.
var farmWords = command.Words{
	Configure: []string{
		"farm create", "farm copy", "farm set", "farm rename", "farm delete", "farm start", "farm stop", "farm restart",
		"service create", "service set", "service move", "service delete",
		"backend create", "backend set", "backend maintenance", "backend delete",
		"header create", "header set", "header move", "header delete",
		"rewrite create", "rewrite set", "rewrite move", "rewrite delete",
		"session create", "session delete",
		"check create", "check copy", "check set", "check delete", "check link", "check unlink",
	},
	BreakTrust: []string{"farm delete"},
	Read:       []string{"check run", "check templates"},
	Ask: map[string]command.Asking{
		"farm create": command.AskTaking, "farm set": command.AskTaking, "farm start": command.AskTaking,
		"header set": command.AskPlaced, "header move": command.AskPlaced, "rewrite set": command.AskPlaced, "rewrite move": command.AskPlaced,
	},
}
