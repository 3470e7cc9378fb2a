package servers

// Host is what starts servers: a *testing.T or *testing.B, or the harness. It is declared here so that
// a binary can use this package without linking testing.
type Host interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any) // does not return
	Failed() bool
	Cleanup(func()) // the last one given runs first
	TempDir() string
}
