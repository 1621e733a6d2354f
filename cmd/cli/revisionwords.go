package cli

import (
	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
)

// revisionCommands returns the commands about the whole configuration and its revisions.
func revisionCommands(c *command.Line) []*cobra.Command {
	return []*cobra.Command{applyCommand(c), exportCommand(c), reloadCommand(c), historyCommand(c),
		diffCommand(c), rollbackCommand(c), transactionCommand(c), pendingCommand(c), confirmCommand(c), tagCommand(c), auditCommand(c)}
}

// revisionWords are the commands about the whole configuration by meaning.
var revisionWords = command.Words{
	Configure:     []string{"apply", "reload", "rollback", "transaction"},
	BreakTrust:    []string{"apply", "rollback", "transaction"},
	Read:          []string{"audit export", "check", "export"},
	ShowAndChange: []string{"pending"},
	Ask:           map[string]command.Asking{"apply": command.AskUnnamed, "reload": command.AskUnnamed, "rollback": command.AskUnnamed, "transaction": command.AskDeleting},
}
