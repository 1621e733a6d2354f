package cli

import "github.com/spf13/cobra"

// IsSetting reports whether a flag is a setting.
var IsSetting = isSetting

// LongHelp returns the beginning of a command's help.
func LongHelp(cmd *cobra.Command) string { return explained(cmd, onTerminal) }
