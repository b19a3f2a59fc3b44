// Command lines that agents and developers use every day, and rules that a sensible person would write for them.

export const SENSIBLE_RULES: readonly string[] = [
  ...['cd', 'pwd', 'ls', 'cat', 'head', 'tail', 'wc', 'grep', 'rg', 'find', 'sort', 'uniq', 'cut', 'tr', 'diff', 'sed'],
  ...[
    'awk',
    'jq',
    'tree',
    'file',
    'stat',
    'du',
    'df',
    'echo',
    'printf',
    'which',
    'type',
    'date',
    'basename',
    'dirname',
  ],
  ...[
    'realpath',
    'xargs',
    'true',
    'test',
    '[',
    'ps',
    'whoami',
    'uname',
    'command -v',
    'mkdir',
    'touch',
    'sleep',
    'tee',
  ],
  ...['git status', 'git log', 'git diff', 'git show', 'git branch', 'git blame', 'git ls-files', 'git rev-parse'],
  ...['git remote', 'git stash', 'git add', 'git commit', 'git checkout', 'git switch', 'git restore', 'git fetch'],
  ...['git tag', 'git describe', 'git grep', 'git --version', 'git merge-base', 'git reflog', 'git shortlog'],
  ...[
    'npm test',
    'npm run',
    'npm ci',
    'npm install',
    'npm ls',
    'npm outdated',
    'npm --version',
    'npm view',
    'npm audit',
  ],
  ...['npx tsc', 'npx eslint', 'npx prettier', 'npx vitest', 'npx jest', 'npx tsx', 'tsc', 'eslint', 'prettier'],
  ...['vitest', 'jest', 'pnpm install', 'pnpm test', 'pnpm run', 'pnpm build', 'pnpm lint', 'pnpm -r', 'pnpm --filter'],
  ...[
    'yarn install',
    'yarn test',
    'yarn build',
    'yarn lint',
    'yarn',
    'node',
    'tsx',
    'python',
    'python3',
    'pytest',
    'mypy',
  ],
  ...[
    'ruff',
    'black',
    'pip install',
    'pip list',
    'uv run',
    'poetry run',
    'cargo',
    'rustc',
    'go',
    'gofmt',
    'make',
    'cmake',
  ],
  ...['docker ps', 'docker images', 'docker logs', 'docker build', 'docker compose', 'curl', 'timeout', 'time', 'env'],
  ...[
    './gradlew',
    'mvn',
    'bundle exec',
    'rspec',
    'dotnet build',
    'dotnet test',
    'gh pr',
    'gh run',
    'md5sum',
    'sha256sum',
  ],
];

export const EVERYDAY: readonly string[] = String.raw`
git status
git status -s
git status --short
git status --porcelain
git status -sb
git diff
git diff --stat
git diff --cached
git diff --staged
git diff HEAD
git diff HEAD~1
git diff HEAD~1 --stat
git diff main...HEAD
git diff main..feature -- src
git diff --name-only
git diff --name-only HEAD~3
git diff --name-status origin/main
git diff src/a.ts
git diff -- src/a.ts src/b.ts
git diff -w
git log
git log --oneline
git log --oneline -10
git log --oneline -n 20
git log -n 5
git log -1
git log -1 --stat
git log -p -1
git log --graph --oneline --all
git log --oneline --graph --decorate -20
git log --since="2 weeks ago" --oneline
git log --author="Ada" --oneline
git log --follow -- src/a.ts
git log -S "foo(" --oneline
git log --format="%h %s" -5
git log --pretty=format:"%h %an %s" -10
git log origin/main..HEAD --oneline
git show
git show HEAD
git show HEAD~1 --stat
git show HEAD:src/a.ts
git show --name-only abc1234
git branch
git branch -a
git branch -vv
git branch --show-current
git rev-parse HEAD
git rev-parse --short HEAD
git rev-parse --abbrev-ref HEAD
git rev-parse --show-toplevel
git remote -v
git stash list
git stash
git stash pop
git stash show -p stash@{0}
git blame src/a.ts
git blame -L 10,20 src/a.ts
git ls-files
git ls-files | wc -l
git ls-files -- '*.ts' | head -50
git grep -n "TODO"
git tag -l
git describe --tags --always
git fetch origin
git fetch --all --prune
git add -A
git add .
git add src/a.ts src/b.ts
git commit -m "Fix the parser: handle a/b and ../c"
git commit -am "wip"
git commit --amend --no-edit
git add -A && git commit -m "Add tests"
git checkout main
git checkout -b feature/x
git checkout -- src/a.ts
git switch -c fix
git restore src/a.ts
git restore --staged .
git reflog -5
git merge-base main HEAD
git --no-pager log --oneline -5
git --no-pager diff
git -C src status
git --version
git shortlog -sn
git status && git diff
git status; git log --oneline -3
git diff | head -100
git log --oneline | wc -l
git diff --stat | tail -1
ls
ls -la
ls -l src
ls -1
ls -lah
ls -R src
ls src/ packages/ 2>/dev/null
ls -t | head -5
ls *.json
ls src/*.ts
ls -d */
ls -la | grep test
ls node_modules/.bin | head
cat package.json
cat src/a.ts src/b.ts
cat -n src/a.ts
cat package.json | jq .scripts
cat package.json | grep version
cat README.md | head -40
cat tsconfig.json 2>/dev/null || echo none
cat src/*.ts | wc -l
cat .gitignore
cat .github/workflows/ci.yml
head -20 README.md
head -n 50 src/a.ts
head -c 200 README.md
tail -20 README.md
tail -n +10 src/a.ts
tail -f logs/dev.log
wc -l src/a.ts
wc -l src/*.ts
wc -c README.md
sed -n '1,50p' src/a.ts
sed -n '10,20p;30p' src/a.ts
sed -n '/start/,/end/p' src/a.ts
sed 's/foo/bar/g' src/a.ts
sed -E 's/[0-9]+/N/' README.md | head
sed -n '$p' README.md
grep -rn "TODO" src
grep -rn "TODO" src --include="*.ts"
grep -n "export" src/a.ts
grep -i error logs/dev.log
grep -c foo README.md
grep -rl "useState" src
grep -rn "foo" . --exclude-dir=node_modules
grep -E "a|b" README.md
grep -v "^#" README.md
grep -A 3 -B 3 foo README.md
grep -q foo README.md && echo yes
grep -rn 'import .* from' src | sort | uniq -c | sort -rn | head -20
grep -oP '"version": "\K[^"]+' package.json
rg TODO
rg -n "foo\(" src
rg -l foo -g '*.ts'
rg --files
rg --files | rg test
rg -i "error" --type ts
rg -C 3 foo src/a.ts
rg "function \w+" -o src
find . -name "*.ts"
find . -name "*.ts" -not -path "*/node_modules/*"
find . -type f -name "*.json" | head -20
find src -type d
find . -maxdepth 2 -name package.json
find . -name "*.test.ts" | wc -l
find . -type f -size +100k
find . -mtime -1 -type f
find src -name "*.ts" | xargs wc -l
find . -name "*.py" -exec grep -l foo {} +
find . \( -name "*.ts" -o -name "*.tsx" \) -print
sort README.md
sort -u README.md
sort -k2 -n data.txt
uniq -c data.txt
cut -d, -f1 data.csv
cut -d: -f1 README.md | sort -u
diff src/a.ts src/b.ts
diff -u src/a.ts src/b.ts
tree -L 2
tree -L 2 -I node_modules
tree src
jq . package.json
jq -r .version package.json
jq '.scripts | keys' package.json
jq -r '.dependencies | to_entries[] | "\(.key)@\(.value)"' package.json
file src/a.ts
stat package.json
du -sh .
du -sh node_modules
du -h --max-depth=1 src
df -h
pwd
pwd && ls
which node
which node npm
command -v docker
date
date +%Y-%m-%d
whoami
uname -a
echo hello
echo "done"
echo $PATH
echo "$HOME"
echo $?
printf '%s\n' hello
basename src/a.ts .ts
dirname src/a.ts
ps aux
ps aux | grep node
mkdir -p build/out
mkdir -p src/new && touch src/new/index.ts
touch src/new.ts
md5sum package.json
[ -f package.json ] && echo yes
test -d node_modules || npm ci
[ -d dist ] || npm run build
npm test
npm test -- --watch=false
npm test 2>&1 | tail -50
npm test -- src/a.test.ts
npm run build
npm run build 2>&1 | tail -20
npm run lint
npm run lint -- --fix
npm run typecheck
npm run test:unit -- -t "parses a/b"
npm run build && npm test
npm run build > /dev/null && echo ok
npm run test --workspaces --if-present
npm run test -w packages/core
npm ci
npm install
npm install --no-audit --no-fund
npm install zod
npm install -D vitest
npm ls --depth=0
npm outdated
npm view zod version
npm audit
npm --version
node --version && npm --version
npx tsc --noEmit
npx tsc --noEmit -p tsconfig.json
npx tsc --noEmit 2>&1 | head -30
npx tsc --noEmit | grep -c error
npx eslint src
npx eslint . --ext .ts,.tsx
npx eslint src --fix
npx prettier --check .
npx prettier --write src/a.ts
npx prettier --write "src/**/*.ts"
npx vitest run
npx vitest run src/a.test.ts
npx vitest run -t "name"
npx vitest run --coverage
npx jest --runInBand
npx jest src/a.test.ts --verbose
npx tsx src/a.ts
tsc --noEmit
eslint .
prettier --check src
vitest run
jest
pnpm install
pnpm install --frozen-lockfile
pnpm test
pnpm run build
pnpm -r build
pnpm --filter core test
pnpm lint
yarn
yarn install
yarn test
yarn build
yarn lint --fix
node x.js
node --test
node dist/index.js
node scripts/build.mjs --watch
node --check x.js
node -e "console.log(1)"
node -p "process.version"
python --version
python3 script.py
python3 -m pytest
python3 -m pytest tests/test_a.py -k name
python -m pip list
python3 -m venv .venv
python3 -c "print(1)"
pytest
pytest -q
pytest -x tests/
pytest tests/test_a.py::test_b -v
pytest --cov=src
mypy src
ruff check .
ruff check --fix .
black --check .
pip install -r requirements.txt
pip install -e .
pip list
uv run pytest
poetry run pytest -q
cargo build
cargo build --release
cargo test
cargo test -- --nocapture
cargo test parser::tests
cargo check
cargo clippy -- -D warnings
cargo fmt --check
cargo run
cargo run -- --help
RUST_BACKTRACE=1 cargo test
go build ./...
go test ./...
go test -v -run TestFoo ./pkg/foo
go test -race ./...
go vet ./...
go mod tidy
gofmt -l .
make
make test
make build
make -j4
make clean all
make -C src
cmake -S . -B build
cmake --build build
docker ps
docker ps -a
docker images
docker logs web --tail 100
docker build -t app .
docker compose up -d
docker compose logs -f web
curl localhost:3000
curl -s http://localhost:3000/health
curl -s http://localhost:8080/api/v1/users | jq .
curl -i http://localhost:3000/api
curl -X POST http://localhost:3000/api -H "Content-Type: application/json" -d '{"a":1}'
curl -s -o /dev/null -w "%{http_code}" http://localhost:3000
curl -sSL https://example.com | head
NODE_ENV=test npm test
CI=1 npm test
NODE_ENV=production npm run build
DEBUG=app:* node x.js
FORCE_COLOR=0 npx vitest run
PORT=3001 node x.js
timeout 60 npm test
timeout 30s npx vitest run src/a.test.ts
time npm run build
cd src && ls
cd src && npm test
cd src && cat a.ts
cd src/deep && ls ..
cd packages/core && npm run build && npm test
cd packages/core && npx tsc --noEmit 2>&1 | head -20
(cd src && ls)
cd build && cmake .. && make
npm run lint && npm run typecheck && npm test
npm test || echo failed
npm test; echo "exit: $?"
npm test > /dev/null 2>&1; echo $?
ls -la && git status && cat package.json
cat src/a.ts | grep -n export | head -5
cat src/a.ts | sed 's/a/b/' | head
awk '{print $1}' README.md
awk -F, '{print $2}' data.csv
awk 'NR>=10 && NR<=20' src/a.ts
awk '{sum += $1} END {print sum}' data.txt
ls | xargs -n1 echo
for f in src/*.ts; do echo "$f"; done
if [ -f a ]; then cat a; fi
cat src/{a,b}.ts
cat <<'EOF' | head
echo $(git rev-parse HEAD)
npm test 2>&1 | tee build/test.log
./gradlew test
mvn -q test
bundle exec rspec
dotnet build
dotnet test --no-build
gh pr list
gh pr view 12 --json title
gh run list --limit 5
true
sleep 2 && curl -s localhost:3000/health
git log --oneline -5 && git status -s
`
  .split('\n')
  .filter((line) => line !== '');
