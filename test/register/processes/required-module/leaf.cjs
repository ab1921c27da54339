module.exports = 'leaf'
