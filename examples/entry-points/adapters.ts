// The example of @toolwright/core/adapters in the API reference.

import { aliasOf } from '@toolwright/core/adapters';

console.log(aliasOf('github.create_issue')); // github__create_issue
