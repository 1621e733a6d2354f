package acme

// AccountName returns the setting that stores an account.
func AccountName(directory string) string { return accountName(directory) }
