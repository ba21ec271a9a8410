/* A shared object that is no plugin. */
int tickpath_some_other_function(void) { return 1; }
